"""`HttpHoncho`, the port over HTTP."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from honcho_memory.adapters.honcho_http import errors, wire
from honcho_memory.adapters.honcho_http.exchange import Answer, Request, exchange
from honcho_memory.domain.errors import HonchoNotFound, HonchoRejected, HonchoUnavailable
from honcho_memory.domain.messages import Conclusion, Outgoing, StoredMessage
from honcho_memory.ports.administration import Health
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import MessagePage

PAGE_SIZE = 100
"""The largest that Honcho gives."""

_T = TypeVar("_T")


class HttpHoncho:
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
        self._client = client
        self._clock = clock
        self._closed = False
        self._server = _address(client.base_url)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._server!r})"

    def add_messages(
        self, workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        """See `MessageStore.add_messages`; never sent twice."""
        request = Request(
            "add messages",
            "POST",
            _path(workspace, "sessions", session, "messages"),
            content=wire.encode_messages(messages),
        )
        stored = self._ask(request, wire.MESSAGES, timeout)
        if len(stored) != len(messages):
            raise errors.not_a_honcho(
                self._server, f"it stored {len(stored)} messages of {len(messages)}"
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
        found = self._post(
            "find messages",
            _path(workspace, "sessions", session, "messages", "list"),
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
        self._post(
            "configure peer",
            _path(workspace, "peers"),
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
        path = _path(workspace, "peers", peer, "representation")
        return self._post(
            "read representation", path, body, wire.REPRESENTATION, timeout=timeout
        ).representation

    def peer_card(self, workspace: str, peer: str, *, timeout: float) -> tuple[str, ...]:
        """See `MemoryReads.peer_card`."""
        request = Request(
            "read peer card", "GET", _path(workspace, "peers", peer, "card"), repeatable=True
        )
        try:
            return tuple(self._ask(request, wire.CARD, timeout).peer_card or ())
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
        found = self._post(
            "search messages", _path(workspace, "search"), body, wire.MESSAGES, timeout=timeout
        )
        return tuple(item.stored() for item in found)

    def query_conclusions(
        self, workspace: str, peer: str, query: str, *, limit: int, timeout: float
    ) -> tuple[Conclusion, ...]:
        """See `MemoryReads.query_conclusions`; what does not exist has none."""
        body = {
            "query": query,
            "top_k": limit,
            "filters": {"observer_id": peer, "observed_id": peer},
        }
        path = _path(workspace, "conclusions", "query")
        try:
            found = self._post("query conclusions", path, body, wire.CONCLUSIONS, timeout=timeout)
        except HonchoNotFound:
            return ()
        return tuple(item.conclusion() for item in found)

    def health(self, *, timeout: float) -> Health:
        """See `Administration.health`."""
        request = Request("ask for health", "GET", "health", repeatable=True)
        answer = self._answer(request, timeout)
        self._parsed(answer, request, wire.HEALTH)
        return Health(errors.http_date(answer.headers.get("Date", "")))

    def delete_session(self, workspace: str, session: str, *, timeout: float) -> None:
        """See `Administration.delete_session`."""
        path = _path(workspace, "sessions", session)
        self._ask(Request("delete session", "DELETE", path), wire.ACCEPTED, timeout)

    def delete_workspace(self, workspace: str, *, timeout: float) -> None:
        """See `Administration.delete_workspace`."""
        request = Request("delete workspace", "DELETE", _path(workspace))
        self._ask(request, wire.ACCEPTED, timeout)

    def close(self) -> None:
        """Refuse every further call; the client stays open, it is the caller's."""
        self._closed = True

    def _is_closed(self) -> bool:
        return self._closed or self._client.is_closed

    def _post(
        self,
        name: str,
        path: str,
        body: object,
        shape: TypeAdapter[_T],
        *,
        timeout: float,
        params: Mapping[str, int] | None = None,
    ) -> _T:
        """POST what may be carried out twice."""
        content = wire.encode(body)
        request = Request(name, "POST", path, params=params, content=content, repeatable=True)
        return self._ask(request, shape, timeout)

    def _ask(self, request: Request, shape: TypeAdapter[_T], timeout: float) -> _T:
        return self._parsed(self._answer(request, timeout), request, shape)

    def _answer(self, request: Request, timeout: float) -> Answer:
        server, name = self._server, request.name
        if self._is_closed():
            raise HonchoUnavailable(f"{name}: the connection to Honcho has been closed")
        try:
            answer = exchange(self._client, request, clock=self._clock, timeout=timeout)
        except errors.TRANSPORT_ERRORS as exc:
            raise errors.of_transport(exc, server=server, name=name, timeout=timeout) from exc
        except RuntimeError as exc:
            if not self._client.is_closed:
                raise
            message = f"{name}: the connection to Honcho was closed meanwhile"
            raise HonchoUnavailable(message, outcome_unknown=True) from exc
        error = errors.of_answer(answer, server=server, name=name, now=self._clock.time())
        if error is not None:
            raise error
        return answer

    def _parsed(self, answer: Answer, request: Request, shape: TypeAdapter[_T]) -> _T:
        try:
            return shape.validate_json(answer.body)
        except ValidationError as exc:
            kind = answer.headers.get("Content-Type", "no content type")
            why = f"{request.name}: it answered {answer.status} with {kind} of another shape"
            raise errors.not_a_honcho(self._server, why, answer.status) from exc


def _path(*segments: str) -> str:
    """The path of something in the workspace that comes first."""
    try:
        return "/".join(["v3/workspaces", *(quote(segment, safe="") for segment in segments)])
    except UnicodeEncodeError as exc:
        raise HonchoRejected("an id cannot be sent: it is not valid Unicode") from exc


def _address(url: httpx.URL) -> str:
    """Scheme, host, port and path; a name and password in front of the host stay unsaid."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/")
