"""What an operator decides about reading."""

from __future__ import annotations

from enum import StrEnum


class ReadPolicy(StrEnum):
    """What becomes of a read when Honcho cannot be asked."""

    FAIL_OPEN = "fail_open"
    """It is logged, and the agent goes on without the memory."""
    FAIL_CLOSED = "fail_closed"
    """It is an error, and the agent stops rather than go on without the memory."""


class SearchScope(StrEnum):
    """Whose messages a search looks through."""

    WORKSPACE = "workspace"
    """Everybody's in the user's workspace, which may be shared on purpose."""
    USER = "user"
    """Only those that the user wrote."""
