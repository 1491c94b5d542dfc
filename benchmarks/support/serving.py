"""Run the tests' strict Honcho server with a pause before each answer; prints its URLs first."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from honcho_memory.testing.strict_honcho.app import create_app
from honcho_memory.testing.strict_honcho.server import listening_socket, url_of
from honcho_memory.testing.strict_honcho.storage import Storage

TRAFFIC = "/traffic"
"""Answers what came through each door so far; asking is not counted."""


def pausing(app: ASGIApp, seconds: float) -> ASGIApp:
    """The application, as far away or as busy as this."""

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        if seconds:
            await asyncio.sleep(seconds)
        await app(scope, receive, send)

    return later


def counting(app: ASGIApp) -> ASGIApp:
    """The application, and a count of requests and their bytes by port."""
    requests: Counter[int] = Counter()
    sent: Counter[int] = Counter()

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == TRAFFIC:
            await JSONResponse({"requests": requests, "bytes": sent})(scope, receive, send)
            return
        port: int = scope["server"][1]
        requests[port] += 1
        sent[port] += _head_size(scope)

        async def read() -> Message:
            event = await receive()
            sent[port] += len(event.get("body", b""))
            return event

        await app(scope, read, send)

    return counted


def _head_size(scope: Scope) -> int:
    target = len(scope["raw_path"]) + len(scope["query_string"])
    fields = sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])
    return len(scope["method"]) + target + len("  HTTP/1.1\r\n") + fields + len("\r\n")


def main() -> None:
    """Serve until killed."""
    pause, *ports = sys.argv[1:]
    app = counting(pausing(create_app(Storage()), float(pause)))
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", log_config=None, access_log=False
    )
    sockets = [listening_socket(int(port)) for port in ports]
    print(*map(url_of, sockets), flush=True)
    uvicorn.Server(config).run(sockets=sockets)


if __name__ == "__main__":
    main()
