"""What facts, clearing, import and export need, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from honcho_memory.adapters.honcho_http import errors, wire
from honcho_memory.adapters.honcho_http.caller import Caller, path_of
from honcho_memory.adapters.honcho_http.exchange import Request
from honcho_memory.domain.errors import HonchoNotFound
from honcho_memory.domain.messages import Conclusion
from honcho_memory.ports.management import ConclusionPage, SessionPage

PAGE_SIZE = 100
"""The largest that Honcho gives."""


class HttpManagement:
    """`ports.management.MemoryManagement` against a Honcho v3 server.

    Args:
        caller: Makes the requests.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list_conclusions(
        self,
        workspace: str,
        observed: str,
        *,
        observer: str | None = None,
        page: int = 1,
        timeout: float,
    ) -> ConclusionPage:
        """See `MemoryManagement.list_conclusions`.

        That a list takes a filter without an observer, as a query does not, is not recorded.
        """
        about = {"observed_id": observed}
        found = self._caller.post(
            "list conclusions",
            path_of(workspace, "conclusions", "list"),
            {"filters": about if observer is None else {"observer_id": observer, **about}},
            wire.CONCLUSION_PAGE,
            timeout=timeout,
            params=_page(page),
        )
        items = tuple(item.conclusion() for item in found.items)
        return ConclusionPage(items, page < found.pages, found.total)

    def create_conclusions(
        self, workspace: str, peer: str, contents: Sequence[str], *, timeout: float
    ) -> tuple[Conclusion, ...]:
        """See `MemoryManagement.create_conclusions`; never sent twice."""
        request = Request(
            "create conclusions",
            "POST",
            path_of(workspace, "conclusions"),
            content=wire.encode_conclusions(peer, contents),
        )
        created = self._caller.ask(request, wire.CONCLUSIONS, timeout)
        if len(created) != len(contents):
            raise errors.not_a_honcho(
                self._caller.server, f"it created {len(created)} conclusions of {len(contents)}"
            )
        return tuple(item.conclusion() for item in created)

    def delete_conclusion(self, workspace: str, conclusion_id: str, *, timeout: float) -> None:
        """See `MemoryManagement.delete_conclusion`."""
        path = path_of(workspace, "conclusions", conclusion_id)
        request = Request("delete conclusion", "DELETE", path, repeatable=True)
        answer = self._caller.answer(request, timeout)
        if answer.status != HTTPStatus.NO_CONTENT:
            raise self._caller.of_another_shape(answer, request)

    def peer_metadata(self, workspace: str, peer: str, *, timeout: float) -> dict[str, object]:
        """See `MemoryManagement.peer_metadata`."""
        path = path_of(workspace, "peers")
        return self._caller.post(
            "read peer metadata", path, {"id": peer}, wire.PEER, timeout=timeout
        ).metadata

    def put_peer_metadata(
        self, workspace: str, peer: str, metadata: Mapping[str, object], *, timeout: float
    ) -> None:
        """See `MemoryManagement.put_peer_metadata`."""
        path = path_of(workspace, "peers", peer)
        body = {"metadata": dict(metadata)}
        self._caller.put("write peer metadata", path, body, wire.PEER, timeout=timeout)

    def put_peer_card(
        self, workspace: str, peer: str, lines: Sequence[str], *, timeout: float
    ) -> None:
        """See `MemoryManagement.put_peer_card`."""
        path = path_of(workspace, "peers", peer, "card")
        body = {"peer_card": list(lines)}
        self._caller.put("write peer card", path, body, wire.CARD, timeout=timeout)

    def peer_sessions(
        self, workspace: str, peer: str, *, page: int = 1, timeout: float
    ) -> SessionPage:
        """See `MemoryManagement.peer_sessions`."""
        found = self._caller.post(
            "list peer sessions",
            path_of(workspace, "peers", peer, "sessions"),
            {},
            wire.NAME_PAGE,
            timeout=timeout,
            params=_page(page),
        )
        return SessionPage(tuple(item.id for item in found.items), page < found.pages)

    def session_peers(self, workspace: str, session: str, *, timeout: float) -> tuple[str, ...]:
        """See `MemoryManagement.session_peers`; what does not exist has none."""
        deadline = self._caller.deadline(timeout)
        path = path_of(workspace, "sessions", session, "peers")
        names: list[str] = []
        page, pages = 1, 1
        while page <= pages:
            request = Request("list session peers", "GET", path, _page(page), repeatable=True)
            try:
                found = self._caller.ask(request, wire.NAME_PAGE, deadline.left())
            except HonchoNotFound:
                return ()
            names += [item.id for item in found.items]
            page, pages = page + 1, found.pages
        return tuple(names)


def _page(page: int) -> dict[str, int]:
    return {"page": page, "size": PAGE_SIZE}
