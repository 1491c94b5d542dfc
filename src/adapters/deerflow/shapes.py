"""What DeerFlow gets to see of a search, and asks it with."""

from __future__ import annotations

import math
from typing import Any

from honcho_memory.domain.document import fact_mapping, iso
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.results import Fact, SaidMessage
from honcho_memory.domain.text import repair

DEFAULT_TOP_K = 5


def found_item(found: Fact | SaidMessage, identities: Identities) -> dict[str, Any]:
    """One thing that a search found.

    A message has no `id` and no `confidence`: DeerFlow's tools would offer to change it by the
    one, and nobody has given it the other.
    """
    if isinstance(found, Fact):
        return fact_mapping(found)
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
