"""Long-term memory of an agent's users through a Honcho server."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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

_LATE = {
    "HonchoMemory": "application.memory",
    "Settings": "settings",
    "Stats": "application.memory",
    "open_memory": "bootstrap",
}
"""Imported on first use, from which module: who only needs messages and errors need not wait."""

if TYPE_CHECKING:
    from honcho_memory.application.memory import HonchoMemory, Stats
    from honcho_memory.bootstrap import open_memory
    from honcho_memory.settings import Settings
else:

    def __getattr__(name: str) -> object:
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
