"""Taking over a memory document, from DeerFlow's default memory or an export of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from honcho_memory.application.fact_store import BATCH, FactStore, changing
from honcho_memory.application.recalling import Recalling
from honcho_memory.domain.document import read_document
from honcho_memory.domain.errors import HonchoRejected
from honcho_memory.domain.facts import Entry, FactDraft, Ledger, sameness
from honcho_memory.domain.identity import User
from honcho_memory.domain.results import Fact, Imported, Skipped

_TOO_LARGE, _UNPROCESSABLE = 413, 422
_Placed = tuple[str, FactDraft]

Progress = Callable[[int, int], None]
"""Is told how many facts are done, of how many."""


class Importing:
    """Adds the facts of a document that are not there yet.

    Args:
        store: Where facts are.
        recalling: Forgets what it keeps of the user.
        timeout: Of one request, in seconds.
    """

    def __init__(self, store: FactStore, recalling: Recalling, *, timeout: float) -> None:
        self._store = store
        self._recalling = recalling
        self._left: Callable[[], float] = lambda: timeout

    def run(self, user: User, document: object, progress: Progress | None = None) -> Imported:
        """Import a document; importing it again changes nothing.

        When it fails half-way, what was added stays, and importing again adds the rest.

        Args:
            user: Whose memory.
            document: See `read_document`.
            progress: Is told how far it is.

        Raises:
            InvalidFact: It is no memory document.
            HonchoRequestError: Honcho could not be asked.
        """
        drafts, skipped = read_document(document)
        with changing(user):
            ledger = self._store.ledger(user, self._left)
            conclusions = self._store.conclusions(user, user.peer, self._left)
            facts = self._store.stated_in(ledger.mended(conclusions), conclusions)
            known = {sameness(fact.content) for fact in facts}
            new: dict[str, _Placed] = {}
            for place, draft in drafts.items():
                if sameness(draft.content) not in known:
                    new.setdefault(sameness(draft.content), (place, draft))
            try:
                facts = self._complete(user, ledger, facts, drafts.values())
                added = self._add_all(user, list(new.values()), skipped, progress)
            finally:
                self._recalling.forget(user)
            duplicates = len(drafts) - len(new)
            return Imported(len(added), duplicates, tuple(skipped), (*added, *facts))

    def _complete(
        self, user: User, ledger: Ledger, facts: Sequence[Fact], drafts: Iterable[FactDraft]
    ) -> tuple[Fact, ...]:
        """Give known facts that nobody has given a category and a confidence those of the drafts.

        Such facts are Honcho's own, and those of an import that ended before it was noted.
        """
        wanted: dict[str, FactDraft] = {}
        for draft in drafts:
            wanted.setdefault(sameness(draft.content), draft)
        completed: dict[str, Fact] = {}
        for fact in facts:
            said = wanted.get(sameness(fact.content))
            if said is not None and fact.id not in ledger.entries:
                completed[fact.id] = replace(
                    fact, category=said.category, confidence=said.confidence
                )
        entries = {
            fact.id: entry
            for fact in completed.values()
            if (entry := Entry(fact.id, fact.category, fact.confidence)).tells_something
        }
        if entries:
            self._store.change(user, lambda ledger: ledger.having(entries), self._left)
        return tuple(completed.get(fact.id, fact) for fact in facts)

    def _add_all(
        self, user: User, new: Sequence[_Placed], skipped: list[Skipped], progress: Progress | None
    ) -> list[Fact]:
        added: list[Fact] = []
        batches = [new[start : start + BATCH] for start in range(0, len(new), BATCH)]
        while batches:
            batch = batches.pop(0)
            try:
                added += self._add(user, [draft for _, draft in batch])
            except HonchoRejected as error:
                batches[:0] = _after_refusal(batch, error, skipped)
            left = sum(len(each) for each in batches)
            if progress is not None:
                progress(len(new) - left, len(new))
        return added

    def _add(self, user: User, drafts: Sequence[FactDraft]) -> tuple[Fact, ...]:
        created = self._store.create(user, [draft.content for draft in drafts], self._left)
        entries = {
            entry.conclusion: entry
            for conclusion, draft in zip(created, drafts, strict=True)
            if (entry := Entry(conclusion.id, draft.category, draft.confidence)).tells_something
        }
        self._store.change(user, lambda ledger: ledger.having(entries), self._left)
        return self._store.stated_in(Ledger(entries), created)


def _after_refusal(
    batch: Sequence[_Placed], error: HonchoRejected, skipped: list[Skipped]
) -> list[Sequence[_Placed]]:
    """What is still to be added of a refused batch: the facts not named, or its halves."""
    if error.status not in {_TOO_LARGE, _UNPROCESSABLE}:
        raise error
    if len(batch) == 1:
        error.refused.setdefault(0, str(error))
    named = {place for place in error.refused if 0 <= place < len(batch)}
    if named:
        skipped += [Skipped(batch[place][0], error.refused[place]) for place in sorted(named)]
        rest = [placed for place, placed in enumerate(batch) if place not in named]
        return [rest] if rest else []
    half = len(batch) // 2
    return [batch[:half], batch[half:]]
