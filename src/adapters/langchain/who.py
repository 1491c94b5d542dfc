"""Whose memory a run is about."""

from __future__ import annotations

from collections.abc import Callable

from langgraph.typing import ContextT

Who = str | Callable[[ContextT], str | None] | None
"""An id, or a callable that gets a run's context and gives one."""


def user_of(who: Who[ContextT], context: ContextT) -> str | None:
    """The user of a run; None when there is none, such as in a run without a context."""
    if not callable(who):
        return who
    return None if context is None else who(context)
