"""What facts, clearing, import and export need, in memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from honcho_memory.adapters.in_memory import limits
from honcho_memory.adapters.in_memory.faults import Request
from honcho_memory.adapters.in_memory.server import InMemoryServer, page_of
from honcho_memory.adapters.in_memory.store import Peer
from honcho_memory.domain.messages import Conclusion
from honcho_memory.ports.management import ConclusionPage, SessionPage


class InMemoryManagement(InMemoryServer):
    """`ports.management.MemoryManagement` in the memory of this process."""

    def list_conclusions(
        self,
        workspace: str,
        observed: str,
        *,
        observer: str | None = None,
        page: int = 1,
        timeout: float,
    ) -> ConclusionPage:
        """See `MemoryManagement.list_conclusions`; the last that was made is the newest."""

        def carry_out() -> ConclusionPage:
            found = [
                each.conclusion()
                for each in reversed(self._store.workspace(workspace).conclusions)
                if each.observed == observed and observer in {None, each.observer}
            ]
            return ConclusionPage(*page_of(found, page), len(found))

        request = Request("list_conclusions", workspace, peer=observed)
        return self._ask(request, carry_out, timeout)

    def create_conclusions(
        self, workspace: str, peer: str, contents: Sequence[str], *, timeout: float
    ) -> tuple[Conclusion, ...]:
        """See `MemoryManagement.create_conclusions`."""
        batch = tuple(contents)

        def carry_out() -> tuple[Conclusion, ...]:
            limits.check_conclusions(batch)
            created = self._store.create_conclusions(workspace, peer, batch, self._now())
            return tuple(each.conclusion() for each in created)

        request = Request("create_conclusions", workspace, peer=peer, count=len(batch))
        return self._ask(request, carry_out, timeout)

    def delete_conclusion(self, workspace: str, conclusion_id: str, *, timeout: float) -> None:
        """See `MemoryManagement.delete_conclusion`."""

        def carry_out() -> None:
            self._store.delete_conclusion(workspace, conclusion_id)

        self._ask(Request("delete_conclusion", workspace), carry_out, timeout)

    def peer_metadata(self, workspace: str, peer: str, *, timeout: float) -> dict[str, object]:
        """See `MemoryManagement.peer_metadata`."""

        def carry_out() -> dict[str, object]:
            return copy.deepcopy(self._made_peer(workspace, peer).metadata)

        return self._ask(Request("peer_metadata", workspace, peer=peer), carry_out, timeout)

    def put_peer_metadata(
        self, workspace: str, peer: str, metadata: Mapping[str, object], *, timeout: float
    ) -> None:
        """See `MemoryManagement.put_peer_metadata`."""
        given = copy.deepcopy(dict(metadata))

        def carry_out() -> None:
            stored = limits.stored_metadata(given)
            self._made_peer(workspace, peer).metadata = stored

        self._ask(Request("put_peer_metadata", workspace, peer=peer), carry_out, timeout)

    def put_peer_card(
        self, workspace: str, peer: str, lines: Sequence[str], *, timeout: float
    ) -> None:
        """See `MemoryManagement.put_peer_card`."""
        card = tuple(lines)

        def carry_out() -> None:
            limits.check_card(card)
            self._made_peer(workspace, peer).card = card

        self._ask(Request("put_peer_card", workspace, peer=peer), carry_out, timeout)

    def peer_sessions(
        self, workspace: str, peer: str, *, page: int = 1, timeout: float
    ) -> SessionPage:
        """See `MemoryManagement.peer_sessions`."""

        def carry_out() -> SessionPage:
            sessions = self._store.workspace(workspace).sessions.items()
            found = [name for name, session in sessions if peer in session.members]
            return SessionPage(*page_of(found, page))

        return self._ask(Request("peer_sessions", workspace, peer=peer), carry_out, timeout)

    def session_peers(self, workspace: str, session: str, *, timeout: float) -> tuple[str, ...]:
        """See `MemoryManagement.session_peers`; they are in it until its deletion has finished."""

        def carry_out() -> tuple[str, ...]:
            found = self._store.workspace(workspace).sessions.get(session)
            return tuple(found.members) if found else ()

        return self._ask(Request("session_peers", workspace, session=session), carry_out, timeout)

    def _made_peer(self, workspace: str, peer: str) -> Peer:
        """Get or create."""
        limits.check_peer(peer)
        limits.check_address(workspace)
        return self._store.make_workspace(workspace).make_peer(peer)
