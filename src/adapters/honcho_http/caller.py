"""Requests of one server, and answers of the expected shape or errors of this library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter, ValidationError

from honcho_memory.adapters.honcho_http import errors, wire
from honcho_memory.adapters.honcho_http.deadline import Deadline
from honcho_memory.adapters.honcho_http.exchange import Answer, Request, exchange
from honcho_memory.domain.errors import HonchoProtocolError, HonchoRejected, HonchoUnavailable
from honcho_memory.ports.clock import Clock

_T = TypeVar("_T")


class Caller:
    """Asks a Honcho over a client that stays its owner's to close.

    Args:
        client: Connects to the server.
        clock: Measures the deadlines.

    Attributes:
        server: The address, for messages.
    """

    def __init__(self, client: httpx.Client, *, clock: Clock) -> None:
        self.server = _address(client.base_url)
        self._client = client
        self._clock = clock
        self._closed = False

    def close(self) -> None:
        """Refuse every further call."""
        self._closed = True

    def deadline(self, timeout: float) -> Deadline:
        """The end of a call that takes several requests."""
        return Deadline(self._clock, timeout)

    def post(
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
        return self.ask(request, shape, timeout)

    def put(
        self, name: str, path: str, body: object, shape: TypeAdapter[_T], *, timeout: float
    ) -> _T:
        """PUT, which may be carried out twice."""
        content = wire.encode(body)
        request = Request(name, "PUT", path, content=content, repeatable=True)
        return self.ask(request, shape, timeout)

    def ask(self, request: Request, shape: TypeAdapter[_T], timeout: float) -> _T:
        """What a successful answer says."""
        return self.parsed(self.answer(request, timeout), request, shape)

    def answer(self, request: Request, timeout: float) -> Answer:
        """A successful answer, as it came."""
        server, name = self.server, request.name
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

    def parsed(self, answer: Answer, request: Request, shape: TypeAdapter[_T]) -> _T:
        """What an answer says."""
        try:
            return shape.validate_json(answer.body)
        except ValidationError as exc:
            raise self.of_another_shape(answer, request) from exc

    def of_another_shape(self, answer: Answer, request: Request) -> HonchoProtocolError:
        """The error for a success that says something else than expected."""
        kind = answer.headers.get("Content-Type", "no content type")
        why = f"{request.name}: it answered {answer.status} with {kind} of another shape"
        return errors.not_a_honcho(self.server, why, answer.status)

    def _is_closed(self) -> bool:
        return self._closed or self._client.is_closed


def path_of(*segments: str) -> str:
    """The path of something in the workspace that comes first."""
    try:
        return "/".join(["v3/workspaces", *(quote(segment, safe="") for segment in segments)])
    except UnicodeEncodeError as exc:
        raise HonchoRejected("an id cannot be sent: it is not valid Unicode") from exc


def _address(url: httpx.URL) -> str:
    """Scheme, host, port and path; a name and password in front of the host stay unsaid."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/")
