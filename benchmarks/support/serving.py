"""Run the tests' strict Honcho server with a pause before each answer; prints its URL first."""

from __future__ import annotations

import asyncio
import sys

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from strict_honcho.app import create_app
from strict_honcho.server import listening_socket, url_of
from strict_honcho.storage import Storage


def pausing(app: ASGIApp, seconds: float) -> ASGIApp:
    """The application, as far away or as busy as this."""

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        if seconds:
            await asyncio.sleep(seconds)
        await app(scope, receive, send)

    return later


def main() -> None:
    """Serve until killed."""
    app = pausing(create_app(Storage()), float(sys.argv[1]))
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", log_config=None, access_log=False
    )
    socket = listening_socket(0)
    print(url_of(socket), flush=True)
    uvicorn.Server(config).run(sockets=[socket])


if __name__ == "__main__":
    main()
