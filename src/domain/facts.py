"""A conclusion as a fact."""

from __future__ import annotations

from honcho_memory.domain.identity import Identities
from honcho_memory.domain.messages import Conclusion
from honcho_memory.domain.results import Fact

DEFAULT_CATEGORY = "context"
DEFAULT_CONFIDENCE = 0.5
"""Of a conclusion that nobody has given one."""


def fact_of(conclusion: Conclusion, identities: Identities) -> Fact:
    """The fact that a conclusion states."""
    session = conclusion.session
    return Fact(
        id=conclusion.id,
        content=conclusion.content,
        category=DEFAULT_CATEGORY,
        confidence=DEFAULT_CONFIDENCE,
        created_at=conclusion.created_at,
        thread_id=identities.thread(session) if session else None,
    )
