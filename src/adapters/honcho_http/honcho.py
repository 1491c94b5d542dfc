"""`HttpHoncho`, the port over HTTP."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import httpx

from honcho_memory.adapters.honcho_http import errors, wire
from honcho_memory.adapters.honcho_http.caller import Caller, path_of
from honcho_memory.adapters.honcho_http.exchange import Request
from honcho_memory.adapters.honcho_http.management import PAGE_SIZE, HttpManagement
from honcho_memory.domain.errors import HonchoNotFound
from honcho_memory.domain.messages import Conclusion, Outgoing, StoredMessage
from honcho_memory.ports.administration import Health
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import MessagePage


class HttpHoncho(HttpManagement):
    """`ports.honcho.Honcho` against a Honcho v3 server.

    A call takes `timeout` seconds at most, with two exceptions that no time-out of a blocking
    socket covers: the system's look-up of a host name, after which nothing is sent any more, and
    a peer that moves single bytes, which costs up to `timeout` once more while it drips the body
    of an answer, and is not stopped while it drips the headers.

    A read that meets a connection which the server has closed is tried once more.

    Args:
        client: Connects to the server: base URL, key, connect time-out and pool are its own.
            It stays the caller's to close.
        clock: Measures the deadlines.
    """

    def __init__(self, client: httpx.Client, *, clock: Clock = time) -> None:
        super().__init__(Caller(client, clock=clock))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._caller.server!r})"

    def add_messages(
        self, workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        """See `MessageStore.add_messages`; never sent twice, and never after its time."""
        deadline = self._caller.deadline(timeout)
        request = Request(
            "add messages",
            "POST",
            path_of(workspace, "sessions", session, "messages"),
            content=wire.encode_messages(messages),
        )
        stored = self._caller.ask(request, wire.MESSAGES, deadline.left())
        if len(stored) != len(messages):
            raise errors.not_a_honcho(
                self._caller.server, f"it stored {len(stored)} messages of {len(messages)}"
            )

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
        """See `MessageStore.find_messages`."""
        found = self._caller.post(
            "find messages",
            path_of(workspace, "sessions", session, "messages", "list"),
            {"filters": wire.key_filter(keys, or_without_key=or_without_key)},
            wire.MESSAGE_PAGE,
            timeout=timeout,
            params={"page": page, "size": PAGE_SIZE},
        )
        return MessagePage(tuple(item.stored() for item in found.items), page < found.pages)

    def configure_peer(
        self, workspace: str, peer: str, *, observe_me: bool, timeout: float
    ) -> None:
        """See `MessageStore.configure_peer`."""
        self._caller.post(
            "configure peer",
            path_of(workspace, "peers"),
            {"id": peer, "configuration": {"observe_me": observe_me}},
            wire.PEER,
            timeout=timeout,
        )

    def representation(
        self,
        workspace: str,
        peer: str,
        *,
        max_conclusions: int,
        query: str | None = None,
        timeout: float,
    ) -> str:
        """See `MemoryReads.representation`."""
        body: dict[str, object] = {"max_conclusions": max_conclusions}
        if query:
            body["search_query"] = query
        path = path_of(workspace, "peers", peer, "representation")
        return self._caller.post(
            "read representation", path, body, wire.REPRESENTATION, timeout=timeout
        ).representation

    def peer_card(self, workspace: str, peer: str, *, timeout: float) -> tuple[str, ...]:
        """See `MemoryReads.peer_card`."""
        request = Request(
            "read peer card", "GET", path_of(workspace, "peers", peer, "card"), repeatable=True
        )
        try:
            return tuple(self._caller.ask(request, wire.CARD, timeout).peer_card or ())
        except HonchoNotFound:
            return ()

    def search_messages(
        self,
        workspace: str,
        query: str,
        *,
        limit: int,
        author: str | None = None,
        timeout: float,
    ) -> tuple[StoredMessage, ...]:
        """See `MemoryReads.search_messages`.

        An author is a filter on the workspace's search rather than the search of that peer: the
        one answers "none" for a workspace that does not exist, which is not known of the other.
        """
        body: dict[str, object] = {"query": query, "limit": limit}
        if author is not None:
            body["filters"] = {"peer_id": {"in": [author]}}
        found = self._caller.post(
            "search messages", path_of(workspace, "search"), body, wire.MESSAGES, timeout=timeout
        )
        return tuple(item.stored() for item in found)

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
        """See `MemoryReads.query_conclusions`; what does not exist has none."""
        filters: dict[str, object] = {"observer_id": peer, "observed_id": peer}
        if ids is not None:
            filters["id"] = {"in": sorted(ids)}
        body = {"query": query, "top_k": limit, "filters": filters}
        path = path_of(workspace, "conclusions", "query")
        try:
            found = self._caller.post(
                "query conclusions", path, body, wire.CONCLUSIONS, timeout=timeout
            )
        except HonchoNotFound:
            return ()
        return tuple(item.conclusion() for item in found)

    def health(self, *, timeout: float) -> Health:
        """See `Administration.health`."""
        request = Request("ask for health", "GET", "health", repeatable=True)
        answer = self._caller.answer(request, timeout)
        self._caller.parsed(answer, request, wire.HEALTH)
        return Health(errors.http_date(answer.headers.get("Date", "")))

    def delete_session(self, workspace: str, session: str, *, timeout: float) -> None:
        """See `Administration.delete_session`."""
        path = path_of(workspace, "sessions", session)
        request = Request("delete session", "DELETE", path, repeatable=True)
        self._caller.ask(request, wire.ACCEPTED, timeout)

    def delete_workspace(self, workspace: str, *, timeout: float) -> None:
        """See `Administration.delete_workspace`."""
        request = Request("delete workspace", "DELETE", path_of(workspace))
        self._caller.ask(request, wire.ACCEPTED, timeout)

    def close(self) -> None:
        """Refuse every further call; the client stays open, it is the caller's."""
        self._caller.close()
