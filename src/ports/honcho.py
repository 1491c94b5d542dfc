"""What the core needs of a Honcho server.

Every method takes `timeout`, the total time in seconds that the call may take whatever the
network does, and raises of `HonchoRequestError`: `HonchoUnavailable`, `HonchoUnauthorized`,
`HonchoRejected`, `HonchoNotFound`, `HonchoProtocolError`; nothing else. Ids are valid by
Honcho's grammar when they get here. Safe to call from many threads at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from honcho_memory.domain.messages import Conclusion, Outgoing, StoredMessage
from honcho_memory.ports.administration import Administration
from honcho_memory.ports.management import MemoryManagement


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of messages, and whether another follows."""

    items: tuple[StoredMessage, ...]
    has_more: bool


class MessageStore(Protocol):
    """Honcho as the place where what was said is kept."""

    def add_messages(
        self, workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        """Store 1 to 100 messages in the given order; what they need is created on the way.

        Nothing is deduplicated: a message that is added twice is stored twice.

        Raises:
            HonchoRejected: None of them was stored; `refused` names the bad ones if known.
            HonchoNotFound: The session is being deleted and cannot be written until that
                has finished.
        """
        ...

    def find_messages(
        self,
        workspace: str,
        session: str,
        keys: Sequence[str],
        *,
        or_without_key: bool = False,
        page: int = 1,
        timeout: float,
    ) -> MessagePage:
        """Messages of a session whose key is one of `keys`, oldest first, a page at a time.

        Args:
            workspace: Where to look; one that does not exist holds nothing.
            session: Where to look; one that does not exist holds nothing.
            keys: At most 300.
            or_without_key: Also messages that another program stored without a key.
            page: From 1.
            timeout: In seconds.
        """
        ...

    def configure_peer(
        self, workspace: str, peer: str, *, observe_me: bool, timeout: float
    ) -> None:
        """Create the peer where missing and say whether Honcho is to draw conclusions about it."""
        ...


class MemoryReads(Protocol):
    """Honcho as what it has concluded. Reads create nothing on the server."""

    def representation(
        self,
        workspace: str,
        peer: str,
        *,
        max_conclusions: int,
        query: str | None = None,
        timeout: float,
    ) -> str:
        """What Honcho knows of a peer, as text; `""` for an unknown peer or workspace.

        Args:
            workspace: Where the peer lives.
            peer: Whom it is about.
            max_conclusions: 1 to 100.
            query: Mixes conclusions near this text with recent ones.
            timeout: In seconds.
        """
        ...

    def peer_card(self, workspace: str, peer: str, *, timeout: float) -> tuple[str, ...]:
        """The lines of a peer's card; empty for an unknown peer or when there is none."""
        ...

    def search_messages(
        self,
        workspace: str,
        query: str,
        *,
        limit: int,
        author: str | None = None,
        timeout: float,
    ) -> tuple[StoredMessage, ...]:
        """Messages near a text, best first, always filled up to `limit` where there are enough.

        Args:
            workspace: Where to look; one that does not exist holds nothing.
            query: Not empty.
            limit: 1 to 100.
            author: Only what this peer said.
            timeout: In seconds.
        """
        ...

    def query_conclusions(
        self,
        workspace: str,
        peer: str,
        query: str,
        *,
        limit: int,
        ids: Collection[str] | None = None,
        timeout: float,
    ) -> tuple[Conclusion, ...]:
        """A peer's conclusions about itself near a text, best first; filled up to `limit`.

        Args:
            workspace: Where the peer lives.
            peer: Observer and observed at once.
            query: Not empty.
            limit: 1 to 100.
            ids: Only these, at least one; None for all.
            timeout: In seconds.
        """
        ...


class Honcho(MessageStore, MemoryReads, MemoryManagement, Administration, Protocol):
    """A Honcho server."""

    def close(self) -> None:
        """Release connections; safe to call twice. Calls after it raise HonchoUnavailable."""
        ...
