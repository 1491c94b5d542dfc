"""The two shapes of a message: as a host holds it, and as Honcho is to store it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum


class Role(StrEnum):
    """Who speaks in a transcript."""

    USER = "user"
    ASSISTANT = "assistant"
    OTHER = "other"
    """System, tool and anything else that is no part of the conversation."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript, with what decides whether it belongs into memory.

    Attributes:
        role: Who speaks.
        content: A string, or a list of strings and content blocks, as the host holds it.
        id: The host's id, None when the host gave none.
        name: The host's name for the author or kind of message.
        hidden: Whether the host hides it from its user.
        reply: What the user answered to a question of the agent, where the host keeps it
            apart from `content`.
        original_content: The user's own words, where the host has put others around them.
        calls_tools: Whether it asks for tools, so that its text is no final answer.
        scheduled: Whether the host itself says it in the user's name, on a schedule.
        reports_error: Whether it shows the user a failure of the model's provider.
        said_at: When it was said, None when the host does not know.

    Raises:
        ValueError: There is no such role.
    """

    role: Role
    content: object = ""
    id: str | None = None
    name: str | None = None
    hidden: bool = False
    reply: str | None = None
    original_content: object = None
    calls_tools: bool = False
    scheduled: bool = False
    reports_error: bool = False
    said_at: datetime | None = None

    def __post_init__(self) -> None:
        """Take a role by its name, and a time without an offset as UTC."""
        object.__setattr__(self, "role", Role(self.role))
        if self.said_at is not None and self.said_at.tzinfo is None:
            object.__setattr__(self, "said_at", self.said_at.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """A message that belongs into memory: the user's words or a final answer.

    Attributes:
        key: What it is known by, see `message_key`; None for a message without a host id,
            which is new by definition.
        role: USER or ASSISTANT.
        text: Normalised, never empty, storable by Honcho.
        said_at: When it was said, if known.
        builtin_digest: Recognises the message in what DeerFlow's built-in backend stored;
            None where that backend would not have stored it.
        piece: Its number among the pieces of one long message, from 1.
        pieces: How many pieces there are.
    """

    key: str | None
    role: Role
    text: str
    said_at: datetime | None = None
    builtin_digest: str | None = None
    piece: int = 1
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as Honcho is to store it.

    Attributes:
        key: Also in `metadata` as `host_message_id`; what Honcho is asked about it by.
        author: The peer id of who said it.
        content: 1 to 25,000 characters.
        created_at: When it was said, with an offset.
        metadata: Flat; plain text and numbers only.
    """

    key: str
    author: str
    content: str
    created_at: datetime
    metadata: Mapping[str, str | int] = field(default_factory=dict[str, str | int])


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message that Honcho holds.

    Attributes:
        id: Honcho's own id.
        key: Its `host_message_id`, None when whoever stored it gave none.
        author: The peer id of who said it.
        session: The session id.
        content: The text.
        created_at: When it was said, with an offset.
    """

    id: str
    key: str | None
    author: str
    session: str
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A short statement about an observed peer, derived by Honcho or created as a fact.

    Attributes:
        id: Honcho's own id.
        content: The statement.
        observer: The peer id of who drew it; of a fact, the peer that it is about.
        session: The session it was derived in, None when it belongs to none.
        created_at: When it was made, with an offset.
    """

    id: str
    content: str
    observer: str
    session: str | None
    created_at: datetime
