"""Long-term memory of an agent's users through a Honcho server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from honcho_memory.application.memory import HonchoMemory, Stats
from honcho_memory.domain.errors import (
    ConfigurationError,
    DuplicateFact,
    HonchoMemoryError,
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnauthorized,
    HonchoUnavailable,
    InvalidFact,
    InvalidProfile,
    NoUser,
    OutboxError,
    OutboxFull,
    OutboxUnavailable,
    ReadOnlyMemoryError,
    UnknownFact,
)
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.messages import Message, Role
from honcho_memory.domain.profile import Profile
from honcho_memory.domain.results import (
    Changed,
    Cleared,
    Document,
    Fact,
    Found,
    Imported,
    Outcome,
    Recall,
    SaidMessage,
    Skipped,
)
from honcho_memory.ports.host import Memory
from honcho_memory.settings import Settings

__all__ = [
    "Changed",
    "Cleared",
    "ConfigurationError",
    "Document",
    "DuplicateFact",
    "Fact",
    "Found",
    "HonchoMemory",
    "HonchoMemoryError",
    "HonchoNotFound",
    "HonchoProtocolError",
    "HonchoRejected",
    "HonchoRequestError",
    "HonchoUnauthorized",
    "HonchoUnavailable",
    "Imported",
    "InvalidFact",
    "InvalidProfile",
    "Memory",
    "Message",
    "MessageReader",
    "NoUser",
    "OutboxError",
    "OutboxFull",
    "OutboxUnavailable",
    "Outcome",
    "Profile",
    "ReadOnlyMemoryError",
    "Recall",
    "Role",
    "SaidMessage",
    "Settings",
    "Skipped",
    "Stats",
    "UnknownFact",
    "open_memory",
]

if TYPE_CHECKING:
    from honcho_memory.bootstrap import open_memory
else:

    def __getattr__(name: str) -> object:
        # What a memory is put together from is needed where one is opened, not for the names.
        if name == "open_memory":
            from honcho_memory.bootstrap import open_memory  # noqa: PLC0415

            return open_memory
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
