"""What facts, clearing, import and export need of a Honcho server.

Time-outs and errors are those of `honcho_memory.ports.honcho`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from honcho_memory.domain.messages import Conclusion


@dataclass(frozen=True, slots=True)
class ConclusionPage:
    """One page of conclusions, whether another follows, and how many are on all pages."""

    items: tuple[Conclusion, ...]
    has_more: bool
    total: int


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of session ids, and whether another follows."""

    items: tuple[str, ...]
    has_more: bool


class MemoryManagement(Protocol):
    """Honcho as something that is looked through, corrected and erased."""

    def list_conclusions(
        self,
        workspace: str,
        observed: str,
        *,
        observer: str | None = None,
        page: int = 1,
        timeout: float,
    ) -> ConclusionPage:
        """Conclusions about a peer, newest first, a page at a time; creates nothing.

        The order among conclusions of the same time is not known to be the same on every page:
        of those that were created in one call, a page may repeat some and lack others.

        Args:
            workspace: Where to look; one that does not exist holds nothing.
            observed: Whom they are about; nothing is known of an unknown peer.
            observer: Only those that this peer drew; None for every observer's.
            page: From 1.
            timeout: In seconds.
        """
        ...

    def create_conclusions(
        self, workspace: str, peer: str, contents: Sequence[str], *, timeout: float
    ) -> tuple[Conclusion, ...]:
        """Store 1 to 100 conclusions of a peer about itself, in no session.

        Nothing is deduplicated: what is created twice is stored twice.

        Args:
            workspace: Where the peer lives.
            peer: Observer and observed at once; it has to exist.
            contents: 1 to 65,535 characters each, and at most 8,192 tokens.
            timeout: In seconds.

        Returns:
            What was stored, in the given order.

        Raises:
            HonchoNotFound: There is no such peer.
            HonchoRejected: None of them was stored; `refused` names the bad ones if known.
        """
        ...

    def delete_conclusion(self, workspace: str, conclusion_id: str, *, timeout: float) -> None:
        """Delete a conclusion, whoever drew it about whomever.

        Raises:
            HonchoNotFound: There is none of this id in the workspace, or not any more.
        """
        ...

    def peer_metadata(self, workspace: str, peer: str, *, timeout: float) -> dict[str, object]:
        """A peer's metadata. Honcho has no way to ask that does not create the peer."""
        ...

    def put_peer_metadata(
        self, workspace: str, peer: str, metadata: Mapping[str, object], *, timeout: float
    ) -> None:
        """Replace all of a peer's metadata; creates the peer where missing.

        Args:
            workspace: Where the peer lives.
            peer: Whose metadata.
            metadata: What JSON can express: at most 100 keys, objects at most 5 deep.
            timeout: In seconds.

        Raises:
            HonchoRejected: It is none of that, and nothing was changed.
        """
        ...

    def put_peer_card(
        self, workspace: str, peer: str, lines: Sequence[str], *, timeout: float
    ) -> None:
        """Replace a peer's card, empty it with no lines; creates the peer where missing."""
        ...

    def peer_sessions(
        self, workspace: str, peer: str, *, page: int = 1, timeout: float
    ) -> SessionPage:
        """The ids of the sessions that a peer is in, a page at a time; creates nothing.

        A session that is being deleted is named until that has finished.

        Args:
            workspace: Where to look; one that does not exist holds nothing.
            peer: Who is in them; an unknown one is in none.
            page: From 1.
            timeout: In seconds.
        """
        ...

    def session_peers(self, workspace: str, session: str, *, timeout: float) -> tuple[str, ...]:
        """The ids of all peers that are in a session; creates nothing.

        Nobody is in one that does not exist; whether somebody is in one that is being deleted
        is left open.
        """
        ...
