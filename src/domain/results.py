"""What a recall and a search give back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from honcho_memory.domain.errors import HonchoMemoryError


class Outcome(StrEnum):
    """How a recall came about."""

    NOBODY = "nobody"
    """There is no user, so there is no memory; nothing was asked."""
    COLD = "cold"
    """Asked just now."""
    FRESH = "fresh"
    """From an answer that is still fresh; nothing was asked."""
    STALE = "stale"
    """Honcho could not be asked; from the last good answer."""
    FAILED = "failed"
    """Honcho could not be asked, and there is no answer to fall back on."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What is known of a user, ready to be put before a model.

    Attributes:
        text: Safe inside markup, within the budget; `""` when nothing is known.
        outcome: How it came about.
        error: Why Honcho could not be asked; None when it could, so that "nothing known"
            and "could not ask" are not the same.
    """

    text: str = ""
    outcome: Outcome = Outcome.COLD
    error: HonchoMemoryError | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def is_asked(self) -> bool:
        """Whether Honcho was asked for it."""
        return self.outcome not in {Outcome.FRESH, Outcome.NOBODY}


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about the user.

    Attributes:
        id: What it is changed and deleted by.
        content: The statement.
        category: `context` when nobody has given it one.
        confidence: 0 to 1; 0.5 when nobody has given one.
        created_at: When it was made.
        thread_id: The thread it was drawn from, None when it is not known.
    """

    id: str
    content: str
    category: str
    confidence: float
    created_at: datetime
    thread_id: str | None


@dataclass(frozen=True, slots=True)
class SaidMessage:
    """A message that was said and stored.

    Attributes:
        id: Honcho's own id.
        content: The text.
        session: Honcho's session id.
        peer: The peer id of who said it.
        created_at: When.
        category: Always `memory`.
    """

    id: str
    content: str
    session: str
    peer: str
    created_at: datetime
    category: str = "memory"


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first.

    Attributes:
        hits: Facts, then messages.
        error: Why Honcho could not be asked; None when it could.
        is_asked: Whether Honcho was asked; not for nobody, and not for an empty query.
    """

    hits: tuple[Fact | SaidMessage, ...] = ()
    error: HonchoMemoryError | None = None
    is_asked: bool = True

    def __iter__(self) -> Iterator[Fact | SaidMessage]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True, slots=True)
class Document:
    """All that is known of a user.

    Attributes:
        representation: What Honcho has concluded, as it tells it; not made safe for a model.
        card: The lines of the peer card.
        facts: Newest first.
        error: Why Honcho could not be asked; None when it could.
        is_asked: Whether Honcho was asked; not for nobody.
    """

    representation: str = ""
    card: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    error: HonchoMemoryError | None = None
    is_asked: bool = True


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change of a fact led to.

    Attributes:
        fact: The fact as it is now, or was when it was deleted.
        facts: All of the user's, after the change, newest first.
    """

    fact: Fact
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Cleared:
    """What clearing a user's memory did.

    Attributes:
        sessions: The sessions that Honcho deletes now, in the background.
        kept_sessions: Sessions with other people, in which what the user said stays: Honcho
            cannot delete a message.
        conclusions: How many were deleted.
    """

    sessions: tuple[str, ...] = ()
    kept_sessions: tuple[str, ...] = ()
    conclusions: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry that could not be imported.

    Attributes:
        place: Where it was, such as `facts[3]`.
        reason: What is wrong with it.
    """

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        added: How many facts are new.
        duplicates: How many were there already, or twice in what was imported.
        skipped: What could not be imported.
        facts: All of the user's, afterwards.
    """

    added: int = 0
    duplicates: int = 0
    skipped: tuple[Skipped, ...] = ()
    facts: tuple[Fact, ...] = ()
