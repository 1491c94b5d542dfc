"""One request and its answer, within a deadline."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import httpx

from honcho_memory.adapters.honcho_http.deadline import (
    Deadline,
    NetworkStream,
    TimeoutsLeft,
    hold_to_deadlines,
    running,
)
from honcho_memory.adapters.honcho_http.quiet_url import QuietUrl
from honcho_memory.ports.clock import Clock

MAX_BODY_BYTES = 16 * 1024 * 1024
"""The largest honest answer is a page of 100 messages of 25,000 characters: at 6 bytes each,
where JSON has to escape them, 15 MB."""

_CONNECTION_WAS_CLOSED = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
_SENDING = (".send_request_headers.started", ".send_request_body.started")
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")
_BODY_UNREAD_FROM = 500


class BodyTooLarge(Exception):
    """The answer is larger than any that a Honcho gives."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask.

    Attributes:
        name: What it is called in messages.
        method: Of HTTP.
        path: Relative to the client's base URL, quoted.
        params: The query.
        content: The JSON body.
        repeatable: Whether carrying it out twice does what carrying it out once does.
    """

    name: str
    method: str
    path: str
    params: Mapping[str, int] | None = None
    content: bytes | None = None
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; the body of a 5xx is not read."""

    status: int
    headers: httpx.Headers
    body: bytes


def exchange(client: httpx.Client, request: Request, *, clock: Clock, timeout: float) -> Answer:
    """Send a request and read the whole answer.

    A repeatable request is sent once more, within the same deadline, when the connection that
    the pool gave it turned out to be closed by the server.

    Raises:
        DeadlinePassed: Time was over between two steps.
        BodyTooLarge: Reading was given up.
        httpx.HTTPError: Everything else that can go wrong on the way.
    """
    deadline = Deadline(clock, timeout)
    attempt = _Attempt(client, request, deadline)
    try:
        return attempt.run()
    except _CONNECTION_WAS_CLOSED:
        if not request.repeatable or attempt.connected or attempt.answered:
            raise
    return _Attempt(client, request, deadline).run()


class _Attempt:
    """One try; `connected` says whether it had to open a connection, `answered` how far it got."""

    def __init__(self, client: httpx.Client, request: Request, deadline: Deadline) -> None:
        self.connected = False
        self.answered = False
        self._client = client
        self._request = request
        self._deadline = deadline

    def run(self) -> Answer:
        self._deadline.check(sent=False)
        with running(self._deadline):
            return self._exchange()

    def _exchange(self) -> Answer:
        response = self._client.send(self._build(), stream=True, follow_redirects=False)
        self.answered = True
        with closing(response):
            body = b"" if response.status_code >= _BODY_UNREAD_FROM else self._read(response)
        return Answer(response.status_code, response.headers, body)

    def _build(self) -> httpx.Request:
        # Compression saves little here, and what is not compressed cannot blow up when unpacked.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._request.content is not None:
            headers["Content-Type"] = "application/json"
        built = self._client.build_request(
            self._request.method,
            self._request.path,
            params=self._request.params,
            content=self._request.content,
            headers=headers,
            extensions={
                "timeout": TimeoutsLeft(self._deadline, connect=self._client.timeout.connect),
                "trace": self._trace,
            },
        )
        built.url = QuietUrl(built.url, self._request.name)
        return built

    def _trace(self, event: str, info: Mapping[str, object]) -> None:
        """Hear from httpcore what it is about to do, and stop it when it is too late.

        Looking up a name is not covered by any time-out: what took too long is not sent any
        more. A request whose body is missing is not carried out either.
        """
        if event.endswith(_SENDING):
            self._deadline.check(sent=False)
        elif event.startswith("connection.connect_"):
            self.connected = True
        if event.endswith(_CONNECTED):
            hold_to_deadlines(cast("NetworkStream", info["return_value"]))

    def _read(self, response: httpx.Response) -> bytes:
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced[:20]) > MAX_BODY_BYTES:
            raise BodyTooLarge
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            # Not asked for, and what is small may unpack to anything.
            raise httpx.DecodingError("the answer is compressed", request=response.request)
        body = bytearray()
        for chunk in response.iter_bytes():
            self._deadline.check(sent=True)
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise BodyTooLarge
        return bytes(body)
