"""Switches that make the server fail, in the ways that networks and servers do."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Cut = Callable[[Scope], None]
"""Closes the connection of a request."""

_WAIT_SECONDS = 10.0
_FLOOD = b" " * 65_536


class _Gate:
    """Opened once, from any thread; coroutines of any loop wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def open(self) -> None:
        with self._lock:
            self._open = True
            waiting, self._waiting = self._waiting, []
        for loop, event in waiting:
            loop.call_soon_threadsafe(event.set)

    async def wait(self) -> None:
        event = asyncio.Event()
        with self._lock:
            if self._open:
                return
            self._waiting.append((asyncio.get_running_loop(), event))
        await event.wait()


class Fault:
    """What happens to the next requests of a kind.

    Args:
        method: Only requests with this method; any if empty.
        path: Only requests whose path and query contain this.
        times: To so many requests; None for all until `stop`.
        act: What happens.
    """

    def __init__(self, method: str, path: str, times: int | None, act: _Act) -> None:
        self._method = method
        self._path = path
        self._left = times
        self._act = act
        self._gate = _Gate()
        self._changed = threading.Condition()
        self._hits = 0
        self._done = 0

    @property
    def hits(self) -> int:
        """How many requests it happened to so far."""
        return self._hits

    def release(self) -> None:
        """Let requests go on that this holds up, now and later."""
        self._gate.open()

    def stop(self) -> None:
        """Happen to no further request."""
        with self._changed:
            self._left = 0

    def wait_until_hit(self, times: int = 1) -> None:
        """Wait until it has happened to so many requests."""
        self._wait(lambda: self._hits >= times)

    def wait_until_done(self) -> None:
        """Wait until every request that it happened to has been dealt with."""
        self._wait(lambda: self._done == self._hits)

    def take(self, method: str, target: str) -> bool:
        """Claim a request, for the server; False when it is none of those."""
        with self._changed:
            matches = self._method in {"", method} and self._path in target
            if not matches or self._left == 0:
                return False
            if self._left is not None:
                self._left -= 1
            self._hits += 1
            self._changed.notify_all()
            return True

    async def happen(self, request: Request) -> None:
        """Deal with a request, for the server."""
        try:
            await self._act(request, self._gate.wait)
        finally:
            with self._changed:
                self._done += 1
                self._changed.notify_all()

    def _wait(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, _WAIT_SECONDS):
                raise TimeoutError("the request that was waited for did not come")


class Request:
    """One request on its way through the server, its body read."""

    def __init__(
        self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, body: Message, cut: Cut
    ) -> None:
        self.send = send
        self._app = app
        self._scope = scope
        self._body = [body]
        self._receive = receive
        self._cut = cut

    async def carry_out(self) -> None:
        """Do it, and answer."""
        await self._app(self._scope, self._replay, self.send)

    async def carry_out_silently(self) -> None:
        """Do it, and let nobody know."""
        await self._app(self._scope, self._replay, _swallow)

    async def cut(self) -> None:
        """Close the connection, and wait until it is."""
        self._cut(self._scope)
        await self.disconnected()

    async def disconnected(self) -> None:
        """Wait until the connection is closed."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _replay(self) -> Message:
        return self._body.pop() if self._body else await self._receive()


async def _swallow(event: Message) -> None:
    pass


class _Act(Protocol):
    def __call__(
        self, request: Request, released: Callable[[], Awaitable[None]], /
    ) -> Awaitable[None]: ...


class Faults:
    """The faults that are set, each for the next `times` requests that match; thread-safe.

    Of several that match a request, the one set first happens to it.
    """

    def __init__(self) -> None:
        self._set: list[Fault] = []

    def answer(
        self,
        status: int,
        *,
        body: object = b"",
        headers: Mapping[str, str] | None = None,
        method: str = "",
        path: str = "",
        times: int | None = 1,
    ) -> Fault:
        """Answer like this, and do not carry the request out; a body is JSON unless it is bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "text/html" if isinstance(body, bytes) else "application/json"
        fields = {"content-type": kind, "content-length": str(len(raw)), **(headers or {})}

        async def act(request: Request, _released: object) -> None:
            await request.send(_start(status, fields))
            await request.send({"type": "http.response.body", "body": raw})

        return self._add(method, path, times, act)

    def hang(self, *, method: str = "", path: str = "", times: int | None = 1) -> Fault:
        """Say nothing until released or disconnected; once released, carry on as usual."""

        async def act(request: Request, released: Callable[[], Awaitable[None]]) -> None:
            if await _first(released(), request.disconnected()):
                await request.carry_out()

        return self._add(method, path, times, act)

    def drip(
        self,
        *,
        seconds: float = 0.02,
        method: str = "",
        path: str = "",
        times: int | None = 1,
    ) -> Fault:
        """Answer 200 and then a byte of white space every few moments, for ever."""
        return self._stream(b" ", seconds, method, path, times)

    def flood(self, *, method: str = "", path: str = "", times: int | None = 1) -> Fault:
        """Answer 200 and then a body without an end."""
        return self._stream(_FLOOD, 0, method, path, times)

    def lose_answer(self, *, method: str = "", path: str = "", times: int | None = 1) -> Fault:
        """Carry the request out, and close the connection instead of answering."""

        async def act(request: Request, _released: object) -> None:
            await request.carry_out_silently()
            await request.cut()

        return self._add(method, path, times, act)

    def carry_out_later(
        self,
        *,
        method: str = "",
        path: str = "",
        times: int | None = 1,
        within: float = math.inf,
    ) -> Fault:
        """Close the connection; carry the request out once released, or never.

        Args:
            method: Of the requests.
            path: Part of the path of the requests.
            times: How many.
            within: Seconds; what is released later than that is never carried out.
        """

        async def act(request: Request, released: Callable[[], Awaitable[None]]) -> None:
            came_at = time.monotonic()
            await request.cut()
            await released()
            if time.monotonic() - came_at <= within:
                await request.carry_out_silently()

        return self._add(method, path, times, act)

    def cut(self, *, method: str = "", path: str = "", times: int | None = 1) -> Fault:
        """Close the connection, and do not carry the request out."""

        async def act(request: Request, _released: object) -> None:
            await request.cut()

        return self._add(method, path, times, act)

    def clear(self) -> None:
        """Take back what has not happened yet."""
        self._set.clear()

    def middleware(self, app: ASGIApp, cut: Cut) -> ASGIApp:
        """Put the faults in front of an application, for the server."""

        async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
            target = f"{scope['path']}?{scope['query_string'].decode('ascii')}"
            request = Request(app, scope, receive, send, body=await receive(), cut=cut)
            for fault in tuple(self._set):
                if fault.take(scope["method"], target):
                    return await fault.happen(request)
            return await request.carry_out()

        return faulty

    def _stream(
        self, chunk: bytes, seconds: float, method: str, path: str, times: int | None
    ) -> Fault:
        async def act(request: Request, _released: object) -> None:
            await request.send(_start(200, {"content-type": "application/json"}))
            closed = asyncio.ensure_future(request.disconnected())
            while not closed.done():
                await request.send({"type": "http.response.body", "body": chunk, "more_body": True})
                await asyncio.sleep(seconds)

        return self._add(method, path, times, act)

    def _add(self, method: str, path: str, times: int | None, act: _Act) -> Fault:
        fault = Fault(method, path, times, act)
        self._set.append(fault)
        return fault


def _start(status: int, headers: Mapping[str, str]) -> Message:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": raw}


async def _first(one: Awaitable[None], other: Awaitable[None]) -> bool:
    """Wait for either; whether it was the first of the two."""
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    return tasks[0] in done
