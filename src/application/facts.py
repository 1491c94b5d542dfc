"""Facts, looked through and changed by the user or a model."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, replace

from honcho_memory.application.fact_store import FactStore, changing
from honcho_memory.application.recalling import Recalling
from honcho_memory.domain.errors import (
    DuplicateFact,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnavailable,
    InvalidFact,
    UnknownFact,
)
from honcho_memory.domain.facts import Entry, Ledger, draft_of, sameness
from honcho_memory.domain.identity import User
from honcho_memory.domain.messages import Conclusion
from honcho_memory.domain.results import Changed, Fact

MOST_UNSETTLED = 1_000
"""Users of whom it is kept that a change failed half-way."""


class Facts:
    """A user's facts; only conclusions of the user about themself are facts.

    Every method may raise `HonchoRequestError`: Honcho could not be asked.

    Args:
        store: Where they are.
        recalling: Forgets what it keeps of a user whose facts change.
        timeout: Of one request, in seconds.
    """

    def __init__(self, store: FactStore, recalling: Recalling, *, timeout: float) -> None:
        self._store = store
        self._recalling = recalling
        self._left: Callable[[], float] = lambda: timeout
        self._unsettled: OrderedDict[User, list[_Attempt]] = OrderedDict()

    def all(self, user: User) -> tuple[Fact, ...]:
        """Every fact, newest first."""
        return self._store.facts(user, self._left)

    def add(
        self, user: User, content: str, category: str | None, confidence: float | None
    ) -> Changed:
        """Add a fact.

        Raises:
            InvalidFact: It is empty, too long, or its confidence is no such thing.
            DuplicateFact: There is one that says the same.
        """
        draft = draft_of(content, category, confidence)
        with changing(user):
            # First the ledger: a conclusion needs a peer that exists.
            ledger, conclusions = self._settled(user)
            facts = self._store.stated_in(ledger, conclusions)
            _check_is_new(draft.content, facts)
            with self._attempting(user, draft.content, conclusions):
                conclusion = self._create(user, draft.content)
                entry = Entry(conclusion.id, draft.category, draft.confidence)
                if entry.tells_something:
                    self._put(user, conclusion.id, entry)
            fact = Fact(
                conclusion.id,
                conclusion.content,
                draft.category,
                draft.confidence,
                conclusion.created_at,
                None,
            )
            return Changed(fact, (fact, *facts))

    def update(
        self,
        user: User,
        fact_id: str,
        content: str | None,
        category: str | None,
        confidence: float | None,
    ) -> Changed:
        """Change a fact, which keeps its id and whatever is None here.

        The new conclusion is there before the old one goes: whatever fails, the fact is found.

        Raises:
            UnknownFact: The user has no such fact.
            InvalidFact: See `add`.
            DuplicateFact: Another one says the same.
        """
        with changing(user):
            fact, stated, facts = self._find(user, fact_id)
            draft = draft_of(
                "unchanged" if content is None else content,
                fact.category if category is None else category,
                fact.confidence if confidence is None else confidence,
            )
            if content is None:
                draft = replace(draft, content=fact.content)
            others = tuple(each for each in facts if each.id != fact_id)
            if content is not None:
                _check_is_new(draft.content, others)
            entry = replace(stated.entry, category=draft.category, confidence=draft.confidence)
            if draft.content != fact.content:
                self._restate(user, fact, replace(stated, entry=entry), draft.content)
            else:
                self._put(user, fact_id, entry)
            changed = replace(
                fact,
                content=draft.content,
                category=draft.category,
                confidence=draft.confidence,
            )
            after = tuple(changed if each.id == fact_id else each for each in facts)
            return Changed(changed, after)

    def delete(self, user: User, fact_id: str) -> Changed:
        """Delete a fact; the messages that it was drawn from stay.

        Raises:
            UnknownFact: The user has no such fact.
        """
        with changing(user):
            fact, stated, facts = self._find(user, fact_id)
            with self._forgetting(user):
                self._store.delete(user, stated.conclusion.id, self._left)
            self._store.change(user, lambda ledger: ledger.without(fact_id), self._left)
            return Changed(fact, tuple(each for each in facts if each.id != fact_id))

    def _find(self, user: User, fact_id: str) -> tuple[Fact, _Stated, tuple[Fact, ...]]:
        """A fact, how it is stated, and all facts; deletes what an earlier update left behind."""
        if not self._store.conclusions(user, user.peer, self._left):
            raise UnknownFact(f"there is no fact {fact_id!r}")  # and no user need be created
        ledger, conclusions = self._settled(user)
        facts = self._store.stated_in(ledger, conclusions)
        fact = next((fact for fact in facts if fact.id == fact_id), None)
        if fact is None:
            raise UnknownFact(f"there is no fact {fact_id!r}")
        entry = ledger.entries.get(fact_id) or Entry(fact_id)
        by_id = {conclusion.id: conclusion for conclusion in conclusions}
        for old in {fact_id, entry.replaced} - {entry.conclusion}:
            if old in by_id:
                self._store.delete(user, old, self._left)
        stated = _Stated(entry, by_id[entry.conclusion], conclusions)
        return fact, stated, facts

    def _restate(self, user: User, fact: Fact, stated: _Stated, content: str) -> None:
        old, entry = stated.conclusion, stated.entry
        with self._attempting(user, content, stated.among):
            new = self._create(user, content)
            moved = replace(
                entry,
                conclusion=new.id,
                created_at=fact.created_at,
                session=entry.session or old.session,
                replaced=old.id,
            )
            self._put(user, fact.id, moved)
        with self._forgetting(user):
            self._store.delete(user, old.id, self._left)

    def _create(self, user: User, content: str) -> Conclusion:
        try:
            (conclusion,) = self._store.create(user, [content], self._left)
        except HonchoRejected as error:
            reason = error.said or f"status {error.status}"
            raise InvalidFact(
                f"the content of a fact is refused by Honcho: {reason}", field="content"
            ) from error
        self._recalling.forget(user)
        return conclusion

    def _put(self, user: User, fact_id: str, entry: Entry) -> None:
        self._store.change(user, lambda ledger: ledger.having({fact_id: entry}), self._left)

    @contextlib.contextmanager
    def _forgetting(self, user: User) -> Generator[None]:
        """Drop what is kept of the user, also where it is not known what came of a request."""
        try:
            yield
        finally:
            self._recalling.forget(user)

    @contextlib.contextmanager
    def _attempting(
        self, user: User, content: str, before: Collection[Conclusion]
    ) -> Generator[None]:
        """Undo what was stated when what belongs to it fails, now or before the next change."""
        try:
            yield
        except HonchoRequestError as error:
            attempts = self._unsettled.setdefault(user, [])
            attempts.append(_Attempt(content, frozenset(each.id for each in before)))
            while len(self._unsettled) > MOST_UNSETTLED:
                self._unsettled.popitem(last=False)
            # What may still be carried out cannot be undone yet.
            if not (isinstance(error, HonchoUnavailable) and error.outcome_unknown):
                with contextlib.suppress(HonchoRequestError):
                    self._settled(user)
            raise

    def _settled(self, user: User) -> tuple[Ledger, tuple[Conclusion, ...]]:
        """Ledger and conclusions, without what earlier attempts have left behind.

        The ledger decides: a conclusion that it names is there to stay, whatever the answer was
        that Honcho gave to it.
        """
        ledger = self._store.ledger(user, self._left)
        conclusions = self._store.conclusions(user, user.peer, self._left)
        attempts = self._unsettled.get(user, ())
        named = {entry.conclusion for entry in ledger.entries.values()}
        stray = {
            conclusion.id
            for conclusion in conclusions
            for attempt in attempts
            if conclusion.content == attempt.content and conclusion.id not in attempt.before | named
        }
        for conclusion_id in sorted(stray):
            with self._forgetting(user):
                self._store.delete(user, conclusion_id, self._left)
        self._unsettled.pop(user, None)
        left = tuple(each for each in conclusions if each.id not in stray)
        return ledger.mended(left), left


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Something that was to be stated, and may have been.

    Attributes:
        content: What.
        before: The conclusions that were there before.
    """

    content: str
    before: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Stated:
    """How a fact is stated at present, and among which conclusions."""

    entry: Entry
    conclusion: Conclusion
    among: tuple[Conclusion, ...]


def _check_is_new(content: str, facts: Sequence[Fact]) -> None:
    wanted = sameness(content)
    if any(sameness(fact.content) == wanted for fact in facts):
        raise DuplicateFact
