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
    """

    hits: tuple[Fact | SaidMessage, ...] = ()
    error: HonchoMemoryError | None = None

    def __iter__(self) -> Iterator[Fact | SaidMessage]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)
