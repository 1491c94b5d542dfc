"""A conclusion as a fact, and back.

Honcho's conclusions have no category and no confidence, and cannot be changed. What a fact has
beyond its conclusion is kept in the metadata of the user's peer, under one key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import cast

from honcho_memory.domain.errors import InvalidFact
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.messages import Conclusion
from honcho_memory.domain.results import Fact
from honcho_memory.domain.text import defuse_control_tokens, repair

DEFAULT_CATEGORY = "context"
DEFAULT_CONFIDENCE = 0.5
"""Of a conclusion that nobody has given one."""
LONGEST_FACT = 65_535
"""In characters; Honcho takes no longer conclusion."""
LONGEST_CATEGORY = 100
LEDGER_KEY = "honcho_memory"
"""The one key of a peer's metadata that is ours."""


@dataclass(frozen=True, slots=True)
class FactDraft:
    """What a fact is to say, checked and storable; made by `draft_of`."""

    content: str
    category: str
    confidence: float


def draft_of(content: object, category: object = None, confidence: object = None) -> FactDraft:
    """Check what somebody wants a fact to say.

    Args:
        content: The statement; white space around it is removed.
        category: None or nothing for `DEFAULT_CATEGORY`.
        confidence: 0 to 1; None for `DEFAULT_CONFIDENCE`.

    Raises:
        InvalidFact: It names what is wrong.
    """
    if not isinstance(content, str):
        raise InvalidFact(
            f"the content of a fact must be text, not {type(content).__name__}", field="content"
        )
    text = defuse_control_tokens(repair(content)).strip()
    if not text:
        raise InvalidFact("the content of a fact must not be empty", field="content")
    if len(text) > LONGEST_FACT:
        raise InvalidFact(
            f"the content of a fact may have {LONGEST_FACT:,} characters, not {len(text):,}",
            field="content",
        )
    return FactDraft(text, _category(category), _confidence(confidence))


def _category(given: object) -> str:
    if given is None:
        return DEFAULT_CATEGORY
    if not isinstance(given, str):
        raise InvalidFact(
            f"the category of a fact must be text, not {type(given).__name__}", field="category"
        )
    category = repair(given).strip() or DEFAULT_CATEGORY
    if len(category) > LONGEST_CATEGORY:
        raise InvalidFact(
            f"the category of a fact may have {LONGEST_CATEGORY} characters", field="category"
        )
    return category


def _confidence(given: object) -> float:
    if given is None:
        return DEFAULT_CONFIDENCE
    # A boolean is an int to Python, and nonsense here; no comparison holds for NaN.
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise InvalidFact(
            "the confidence of a fact must be a number between 0 and 1", field="confidence"
        )
    return float(given)


def sameness(content: str) -> str:
    """Two facts say the same when this is the same."""
    return content.strip().casefold()


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of a fact beside its conclusion.

    Attributes:
        conclusion: The id of the conclusion that states it at present.
        category: Of the fact.
        confidence: 0 to 1.
        created_at: When the fact was made; None when its conclusion was.
        session: Where it was drawn from, if that is not its conclusion's session.
        replaced: The conclusion that stated it before, which may still be there.
    """

    conclusion: str
    category: str = DEFAULT_CATEGORY
    confidence: float = DEFAULT_CONFIDENCE
    created_at: datetime | None = None
    session: str | None = None
    replaced: str | None = None

    @property
    def tells_something(self) -> bool:
        """Whether it says more than that its conclusion is a fact."""
        return self != Entry(self.conclusion)


class Ledger:
    """What the metadata of a user's peer says about their memory; immutable.

    Args:
        entries: By fact id; a conclusion that is in none is a fact of its own id.
        cleared_at: When the memory was last cleared, in seconds since the epoch; 0 for never.
    """

    def __init__(self, entries: Mapping[str, Entry] | None = None, cleared_at: float = 0.0) -> None:
        self.entries = dict(entries or {})
        self.cleared_at = cleared_at
        self._facts = {entry.conclusion: fact_id for fact_id, entry in self.entries.items()}
        replaced = {entry.replaced for entry in self.entries.values()}
        self._gone = (replaced | self.entries.keys()) - self._facts.keys()

    def fact(self, conclusion: Conclusion, identities: Identities) -> Fact | None:
        """The fact that a conclusion states; None for one that another has replaced."""
        if conclusion.id in self._gone:
            return None
        fact_id = self._facts.get(conclusion.id, conclusion.id)
        entry = self.entries.get(fact_id) or Entry(conclusion.id)
        session = entry.session or conclusion.session
        return Fact(
            id=fact_id,
            content=conclusion.content,
            category=entry.category,
            confidence=entry.confidence,
            created_at=entry.created_at or conclusion.created_at,
            thread_id=identities.thread(session) if session else None,
        )

    def conclusions_of(self, category: str) -> frozenset[str]:
        """The conclusions that state facts that were put into a category."""
        return frozenset(
            entry.conclusion for entry in self.entries.values() if entry.category == category
        )

    def conclusions_but(self, category: str) -> frozenset[str]:
        """The conclusions that state facts that were put into any other category."""
        return frozenset(
            entry.conclusion for entry in self.entries.values() if entry.category != category
        )

    def having(self, entries: Mapping[str, Entry]) -> Ledger:
        """The ledger with the entries of some facts."""
        return Ledger({**self.entries, **entries}, self.cleared_at)

    def mended(self, conclusions: Collection[Conclusion]) -> Ledger:
        """The ledger without what names conclusions that are gone.

        A change that failed half-way, or another program, may have left it so. The fact is then
        what states it still, as long as anything does.

        Args:
            conclusions: All that there are.
        """
        there = {conclusion.id for conclusion in conclusions}
        entries: dict[str, Entry] = {}
        for fact_id, entry in self.entries.items():
            stating = [
                each for each in (entry.conclusion, entry.replaced, fact_id) if each in there
            ]
            if stating:
                entries[fact_id] = replace(entry, conclusion=str(stating[0]))
        return Ledger(entries, self.cleared_at)

    def without(self, fact_id: str) -> Ledger:
        """The ledger without a fact's entry."""
        rest = {known: entry for known, entry in self.entries.items() if known != fact_id}
        return Ledger(rest, self.cleared_at)

    @classmethod
    def of(cls, metadata: Mapping[str, object]) -> Ledger:
        """Read it from a peer's metadata; what is not ours or not right is left out."""
        own = _mapping(metadata.get(LEDGER_KEY))
        entries = {
            fact_id: entry
            for fact_id, raw in _mapping(own.get("facts")).items()
            if (entry := _entry(_mapping(raw))) is not None
        }
        cleared_at = _moment(own.get("cleared_at"))
        return cls(entries, cleared_at.timestamp() if cleared_at else 0.0)

    def within(self, metadata: Mapping[str, object]) -> dict[str, object]:
        """A peer's metadata with this ledger in the place of an earlier one."""
        own: dict[str, object] = {}
        if self.entries:
            own["facts"] = {fact_id: _raw(entry) for fact_id, entry in self.entries.items()}
        if self.cleared_at:
            own["cleared_at"] = datetime.fromtimestamp(self.cleared_at, UTC).isoformat()
        rest = {name: value for name, value in metadata.items() if name != LEDGER_KEY}
        return {**rest, LEDGER_KEY: own} if own else rest


def _raw(entry: Entry) -> dict[str, object]:
    created_at = entry.created_at.isoformat() if entry.created_at else None
    raw = {**asdict(entry), "created_at": created_at}
    return {name: value for name, value in raw.items() if value is not None}


def _entry(raw: Mapping[str, object]) -> Entry | None:
    conclusion, session, replaced = (
        value if isinstance(value := raw.get(name), str) and value else None
        for name in ("conclusion", "session", "replaced")
    )
    if conclusion is None:
        return None
    try:
        category, confidence = _category(raw.get("category")), _confidence(raw.get("confidence"))
    except InvalidFact:
        category, confidence = DEFAULT_CATEGORY, DEFAULT_CONFIDENCE
    created_at = _moment(raw.get("created_at"))
    return Entry(conclusion, category, confidence, created_at, session, replaced)


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC) if moment else None
    except (ValueError, OverflowError):
        return None
