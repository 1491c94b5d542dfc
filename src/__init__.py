"""Long-term memory of an agent's users through a Honcho server."""

from honcho_memory.application.memory import HonchoMemory, Stats
from honcho_memory.bootstrap import open_memory
from honcho_memory.domain.errors import (
    ConfigurationError,
    HonchoMemoryError,
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnauthorized,
    HonchoUnavailable,
    OutboxError,
    OutboxFull,
    OutboxUnavailable,
)
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.messages import Message, Role
from honcho_memory.domain.results import Fact, Found, Outcome, Recall, SaidMessage
from honcho_memory.settings import Settings

__all__ = [
    "ConfigurationError",
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
    "Message",
    "MessageReader",
    "OutboxError",
    "OutboxFull",
    "OutboxUnavailable",
    "Outcome",
    "Recall",
    "Role",
    "SaidMessage",
    "Settings",
    "Stats",
    "open_memory",
]
