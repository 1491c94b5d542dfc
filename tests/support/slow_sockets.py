"""Servers that are slow in every way there is, and waiting for them that is counted.

How long a caller waits is not measured: it goes on when its request has ended, or when every
request that is under way hangs. Then the time that it would have waited passes on a clock that
stands still otherwise.
"""

from __future__ import annotations

import re
import select
import socket
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any

from honcho_memory.adapters.in_memory import ManualClock

PATIENCE = 60.0
"""Seconds after which a broken test is given up."""
TICK = 1 / 64
"""Seconds of the clock between two drops."""
REQUEST_THREAD = "honcho-request"

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_BLINK = 0.002

Treat = Callable[[socket.socket, bytes, "SlowTime"], None]
"""What becomes of a connection, once its first request has been read."""


class SlowTime:
    """A clock that only waiting and dripping move; a `ports.clock.Clock`."""

    def __init__(self) -> None:
        self._clock = ManualClock()
        self._changed = threading.Condition()
        self._under_way = 0
        self._hanging = 0
        self._is_noticed = True
        self._reads = 0
        self._released = threading.Event()

    def time(self) -> float:
        """See `Clock.time`."""
        return self._clock.time()

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        if threading.current_thread().name == REQUEST_THREAD:
            self._reads += 1
        return self._clock.monotonic()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        with self._changed:
            self._clock.advance(seconds)
            self._changed.notify_all()

    def future(self) -> Future[Any]:
        """A future that is waited for in this time."""
        return _SlowFuture(self)

    def release(self) -> None:
        """Let go of all that hangs."""
        self._released.set()

    def hang(self) -> None:
        """Do not go on before the release."""
        with self.hanging() as released:
            released.wait(PATIENCE)

    @contextmanager
    def hanging(self) -> Generator[threading.Event]:
        """A request hangs for as long as this lasts; what it gives is set by the release."""
        self._change(hanging=1)
        try:
            yield self._released
        finally:
            self._change(hanging=-1)

    @contextmanager
    def unnoticed(self) -> Generator[None]:
        """Whoever waits does not notice that all requests hang, for as long as this lasts."""
        self._is_noticed = False
        try:
            yield
        finally:
            with self._changed:
                self._is_noticed = True
                self._changed.notify_all()

    def wait_until_hanging(self, count: int) -> None:
        """Wait until so many requests hang."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._hanging >= count, PATIENCE):
                raise TimeoutError(f"{self._hanging} of {count} requests hang")

    def drip(self, connection: socket.socket, drop: bytes = b" ") -> bool:
        """Let a tick pass, and send drops until a request has noticed; False once it hangs up."""
        reads = self._reads
        self.advance(TICK)
        while self._reads == reads:
            connection.sendall(drop)
            if select.select([connection], [], [], _BLINK)[0]:
                return False
        return True

    def wait_for(self, future: Future[Any], seconds: float) -> None:
        """Wait until it is done, or its time is up."""
        end = self._clock.monotonic() + seconds
        with self._changed:
            in_time = self._changed.wait_for(
                lambda: (
                    future.done()
                    or (self._is_noticed and self._hanging >= self._under_way)
                    or self._clock.monotonic() >= end
                ),
                PATIENCE,
            )
            if not in_time:
                raise AssertionError("a request neither ends nor hangs")
            if not future.done():
                self._clock.advance(max(0.0, end - self._clock.monotonic()))

    def begin(self) -> None:
        """A request is under way."""
        self._change(under_way=1)

    def end(self, _future: object) -> None:
        """It has ended."""
        self._change(under_way=-1)

    def _change(self, *, under_way: int = 0, hanging: int = 0) -> None:
        with self._changed:
            self._under_way += under_way
            self._hanging += hanging
            self._changed.notify_all()


class _SlowFuture(Future[Any]):
    def __init__(self, time: SlowTime) -> None:
        super().__init__()
        self._time = time
        time.begin()
        self.add_done_callback(time.end)

    def result(self, timeout: float | None = None) -> Any:
        self._time.wait_for(self, PATIENCE if timeout is None else timeout)
        return super().result(timeout=0)


@contextmanager
def slow_server(treat: Treat, time: SlowTime) -> Generator[str]:
    """The URL of a server that treats each connection like this."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        address = listener.getsockname()
        stopping = threading.Event()

        def serve() -> None:
            while not stopping.is_set():
                connection = listener.accept()[0]
                threading.Thread(target=_serve_one, args=(connection, treat, time)).start()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{address[1]}"
        finally:
            time.release()
            stopping.set()
            with suppress(OSError):
                socket.create_connection(address).close()
            thread.join(PATIENCE)


def _serve_one(connection: socket.socket, treat: Treat, time: SlowTime) -> None:
    with connection, suppress(OSError):
        connection.settimeout(PATIENCE)
        request = _read_request(connection)
        if request:
            treat(connection, request, time)


def _read_request(connection: socket.socket) -> bytes:
    read = b""
    while b"\r\n\r\n" not in read:
        chunk = connection.recv(65_536)
        if not chunk:
            return b""
        read += chunk
    head, _, body = read.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    missing = int(length[1]) - len(body) if length else 0
    while missing > 0:
        missing -= len(connection.recv(missing))
    return head


def silent(_connection: socket.socket, _request: bytes, time: SlowTime) -> None:
    """Take the request and never answer."""
    time.hang()


def drips_headers(connection: socket.socket, _request: bytes, time: SlowTime) -> None:
    """Begin to answer, and never come to the end of a header."""
    connection.sendall(_HEAD + b"X-Slow: ")
    while time.drip(connection):
        pass


def interim_answers(connection: socket.socket, _request: bytes, time: SlowTime) -> None:
    """Say again and again that the answer is about to come."""
    while time.drip(connection, b"HTTP/1.1 103 Early Hints\r\n\r\n"):
        pass


def drips_body(connection: socket.socket, _request: bytes, time: SlowTime) -> None:
    """Answer a byte at a time."""
    connection.sendall(_HEAD + b"Content-Length: 1000000\r\n\r\n")
    while time.drip(connection):
        pass


def endless_body(connection: socket.socket, _request: bytes, _time: SlowTime) -> None:
    """Answer as fast as can be, for ever."""
    connection.sendall(_HEAD + b"\r\n")
    while True:
        connection.sendall(b" " * 65_536)


def cut(_connection: socket.socket, _request: bytes, _time: SlowTime) -> None:
    """Hang up instead of answering."""


def cut_in_the_body(connection: socket.socket, _request: bytes, _time: SlowTime) -> None:
    """Hang up in the middle of the answer."""
    connection.sendall(_HEAD + b'Content-Length: 1000\r\n\r\n{"representation": "She')


def silent_about_the_card(connection: socket.socket, request: bytes, time: SlowTime) -> None:
    """Say what is known, but never give the card."""
    if b"/card" in request.splitlines()[0]:
        time.hang()
        return
    body = b'{"representation": "## Explicit Observations\\n\\nlives in Lisbon\\n"}'
    connection.sendall(_HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


@contextmanager
def full_backlog() -> Generator[str]:
    """The URL of a server that nobody gets through to: the system keeps callers waiting."""
    callers: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        try:
            for _ in range(8):
                caller = socket.socket()
                callers.append(caller)
                caller.setblocking(False)
                caller.connect_ex(listener.getsockname())
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for caller in callers:
                caller.close()
