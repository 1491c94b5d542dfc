"""What DeerFlow expects of a memory: its document, and what a search finds."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from honcho_memory.domain.identity import Identities
from honcho_memory.domain.results import Fact, SaidMessage
from honcho_memory.domain.text import repair

DOCUMENT_VERSION = "1.0"
USER_SECTIONS = ("workContext", "personalContext", "topOfMind")
HISTORY_SECTIONS = ("recentMonths", "earlierContext", "longTermBackground")
NO_THREAD = "manual"
"""The source of a fact that no thread is known for; DeerFlow shows any other as a link to one."""
DEFAULT_TOP_K = 5


def iso(moment: datetime) -> str:
    """A moment as ISO 8601 in UTC, with Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def document(summary: str, now: datetime) -> dict[str, Any]:
    """A memory document with every field that DeerFlow's settings page can import again.

    Args:
        summary: What is known of the user.
        now: The document is made on demand, so this is when everything in it was last updated.
    """

    def section(text: str = "") -> dict[str, str]:
        return {"summary": text, "updatedAt": iso(now)}

    return {
        "version": DOCUMENT_VERSION,
        "lastUpdated": iso(now),
        "user": {name: section() for name in USER_SECTIONS} | {"workContext": section(summary)},
        "history": {name: section() for name in HISTORY_SECTIONS},
        "facts": [],
    }


def found_item(found: Fact | SaidMessage, identities: Identities) -> dict[str, Any]:
    """One thing that a search found.

    A message has no `id` and no `confidence`: DeerFlow's tools would offer to change it by the
    one, and nobody has given it the other.
    """
    if isinstance(found, Fact):
        return {
            "id": found.id,
            "content": repair(found.content),
            "category": found.category,
            "confidence": found.confidence,
            "createdAt": iso(found.created_at),
            "source": found.thread_id or NO_THREAD,
        }
    return {
        "content": repair(found.content),
        "category": found.category,
        "session_id": found.session,
        "peer_id": found.peer,
        "created_at": iso(found.created_at),
        "createdAt": iso(found.created_at),
        "source": identities.thread(found.session) or found.session,
    }


def how_many(given: object) -> int:
    """How many things a model asked for; models write numbers in many ways, and nonsense too."""
    if isinstance(given, bool):
        return DEFAULT_TOP_K
    if isinstance(given, int):
        return given
    try:
        number = float(given) if isinstance(given, str | float) else math.nan
        return int(number)
    except (ValueError, OverflowError):
        return DEFAULT_TOP_K
