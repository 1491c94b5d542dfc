"""Running the strict server: over a real socket, in a thread."""

from __future__ import annotations

import asyncio
import socket as sockets
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import Scope

from honcho_memory.testing.strict_honcho.app import create_app
from honcho_memory.testing.strict_honcho.faults import Faults
from honcho_memory.testing.strict_honcho.storage import Message, Storage
from honcho_memory.testing.strict_honcho.traffic import SeenRequest, Traffic

KEEP_ALIVE_SECONDS = 5
"""As the real server has it, which closes an idle connection a little earlier than that."""

_HOST = "127.0.0.1"
_STOP_SECONDS = 10.0


class State:
    """What the server holds, seen from outside."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def workspaces(self) -> Sequence[str]:
        """The ids of the workspaces."""
        return tuple(self._storage.workspaces)

    def sessions(self, workspace: str) -> Sequence[str]:
        """The ids of a workspace's sessions, those included that are being deleted."""
        return tuple(self._storage.workspace(workspace).sessions)

    def messages(self, workspace: str, session: str) -> Sequence[Message]:
        """The messages of a session in the order in which they were stored."""
        stored = tuple(self._storage.workspace(workspace).messages)
        return tuple(message for message in stored if message.session_id == session)

    def peers(self, workspace: str) -> Sequence[str]:
        """The ids of a workspace's peers."""
        return tuple(self._storage.workspace(workspace).peers)

    def peer_configuration(self, workspace: str, peer: str) -> Mapping[str, Any] | None:
        """A peer's own configuration; None for a peer that does not exist."""
        found = self._storage.workspace(workspace).peers.get(peer)
        return None if found is None else dict(found.configuration)

    def peer_metadata(self, workspace: str, peer: str) -> Mapping[str, Any] | None:
        """A peer's metadata; None for a peer that does not exist."""
        found = self._storage.workspace(workspace).peers.get(peer)
        return None if found is None else dict(found.metadata)


class RunningServer:
    """A strict server that answers at `url`.

    Attributes:
        url: Its base URL.
        state: What it holds.
        faults: How it is to fail.
    """

    def __init__(self, tokens: Mapping[str, str | None] | None) -> None:
        self._storage = Storage()
        self._socket = listening_socket(0)
        self.url = url_of(self._socket)
        self.state = State(self._storage)
        self.faults = Faults()
        app = create_app(self._storage, tokens)
        self._traffic = Traffic(self.faults.middleware(app, self._cut))
        self._uvicorn = uvicorn.Server(_config(self._traffic))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="strict-honcho", daemon=True)

    @property
    def requests(self) -> Sequence[SeenRequest]:
        """The requests that have arrived, in that order."""
        return tuple(self._traffic.seen)

    def forget_requests(self) -> None:
        """Begin `requests` anew."""
        self._traffic.seen.clear()

    def finish_deletions(self) -> None:
        """Carry out the deletions of sessions and workspaces that have begun."""
        asyncio.run_coroutine_threadsafe(self._finish_deletions(), self._loop).result()

    def start(self) -> None:
        """Begin to serve; requests that come earlier wait."""
        self._thread.start()

    def stop(self) -> None:
        """Stop at once, whatever requests hang."""
        self._uvicorn.should_exit = True
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        await self._uvicorn.serve(sockets=[self._socket])
        for connection in tuple(self._uvicorn.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    async def _finish_deletions(self) -> None:
        self._storage.finish_deletions()

    def _cut(self, scope: Scope) -> None:
        for connection in tuple(self._uvicorn.server_state.connections):
            if getattr(connection, "client", None) == scope["client"]:
                connection.transport.close()


@contextmanager
def running_server(*, tokens: Mapping[str, str | None] | None = None) -> Generator[RunningServer]:
    """Run a strict server for the duration of a with statement.

    Args:
        tokens: The accepted tokens with the workspace that each is for, None for all; without
            this argument nobody has to authenticate.
    """
    server = RunningServer(tokens)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def listening_socket(port: int) -> sockets.socket:
    """A socket on this machine alone that already takes connections."""
    socket = sockets.create_server((_HOST, port), backlog=256)
    # Without it a body waits up to 40 ms for the acknowledgement of its headers: asyncio sees to
    # that for sockets of its own alone. Accepted connections inherit it.
    socket.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
    return socket


def url_of(socket: sockets.socket) -> str:
    """The base URL of a server on a socket."""
    return f"http://{_HOST}:{socket.getsockname()[1]}"


def serve(storage: Storage, socket: sockets.socket) -> None:
    """Serve in this thread until the process is told to end."""
    uvicorn.Server(_config(create_app(storage))).run(sockets=[socket])


def _config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        timeout_graceful_shutdown=0,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        log_config=None,
        log_level="critical",
        access_log=False,
    )
