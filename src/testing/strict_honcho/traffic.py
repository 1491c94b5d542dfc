"""The requests that the server has seen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request that arrived whole.

    Attributes:
        method: Of HTTP.
        path: With the query, as it was sent.
        size: Of the body, in bytes.
        body: The body as JSON; None when it is empty or no JSON.
        headers: By their names in lower case.
    """

    method: str
    path: str
    size: int
    body: Any
    headers: dict[str, str]


class Traffic:
    """ASGI middleware that reads each request whole, notes it, and passes it on."""

    def __init__(self, app: ASGIApp) -> None:
        self.seen: list[SeenRequest] = []
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                return
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        self.seen.append(_seen(scope, bytes(body)))
        await self._app(scope, _replay(bytes(body), receive), send)


def _seen(scope: Scope, body: bytes) -> SeenRequest:
    query = scope["query_string"].decode("ascii")
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    return SeenRequest(
        method=scope["method"],
        path=scope["path"] + (f"?{query}" if query else ""),
        size=len(body),
        body=parsed,
        headers={name.decode("latin-1"): v.decode("latin-1") for name, v in scope["headers"]},
    )


def _replay(body: bytes, receive: Receive) -> Receive:
    events: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return events.pop() if events else await receive()

    return replayed
