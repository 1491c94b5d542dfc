"""A total time for one call, in the form that httpx can work with."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from honcho_memory.ports.clock import Clock

_SHORTEST = 0.001
"""Zero would mean to httpcore's sockets: do not wait at all, and fail in other ways."""
_PHASES = ("connect", "read", "write", "pool")
_PIECE = 16 * 1024
"""Bytes; as many as a record of TLS holds."""

_of_thread = threading.local()


class DeadlinePassed(Exception):
    """The time of a call was over.

    Attributes:
        sent: Whether the request may have reached the server by then.
    """

    def __init__(self, *, sent: bool) -> None:
        super().__init__("out of time")
        self.sent = sent


class Deadline:
    """The moment at which a call is over.

    Args:
        clock: Whose monotonic time counts.
        seconds: From now.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._end = clock.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left; negative when it has passed."""
        return self._end - self._clock.monotonic()

    def check(self, *, sent: bool) -> None:
        """Raise `DeadlinePassed` if it has."""
        if self.left() <= 0:
            raise DeadlinePassed(sent=sent)


class TimeoutsLeft(Mapping[str, float]):
    """httpx's `timeout` extension, read out anew: each phase of a request gets what is left.

    httpcore looks a time-out up when the phase begins, so that pool, connect, write and read
    together take no longer than the deadline. Within a phase it counts anew from one system call
    to the next: see `hold_to_deadlines`.

    Args:
        deadline: For all of it.
        connect: A further limit on opening the connection, in seconds.
    """

    def __init__(self, deadline: Deadline, *, connect: float | None) -> None:
        self._deadline = deadline
        self._connect = connect

    def __getitem__(self, phase: str) -> float:
        if phase not in _PHASES:
            raise KeyError(phase)
        left = max(self._deadline.left(), _SHORTEST)
        if phase == "connect" and self._connect is not None:
            return min(left, self._connect)
        return left

    def __iter__(self) -> Iterator[str]:
        return iter(_PHASES)

    def __len__(self) -> int:
        return len(_PHASES)


class NetworkStream(Protocol):
    """What is needed of an `httpcore.NetworkStream`."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Wait for bytes."""
        ...

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes, all of them."""
        ...


@contextmanager
def running(deadline: Deadline) -> Generator[None]:
    """This deadline is that of what this thread reads and writes meanwhile."""
    _of_thread.deadline = deadline
    try:
        yield
    finally:
        _of_thread.deadline = None


def hold_to_deadlines(stream: NetworkStream) -> None:
    """Let a connection's reads and writes end with the deadline of the request they are for.

    To httpcore every byte is a success that the time-out begins anew after: a server that drips
    its headers, sends interim answers for ever or takes a request byte by byte would hold a
    thread for days. The stream is kept, since httpcore holds it already; only what it does is
    wrapped.
    """
    read, write = stream.read, stream.write

    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        return read(max_bytes, _left_of(timeout, sent=True))

    def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
        # A request of which the end is missing is not carried out.
        for start in range(0, len(buffer), _PIECE):
            write(buffer[start : start + _PIECE], _left_of(timeout, sent=False))

    vars(stream).update(read=read_in_time, write=write_in_time)


def _left_of(timeout: float | None, *, sent: bool) -> float | None:
    deadline: Deadline | None = getattr(_of_thread, "deadline", None)
    if deadline is None:
        return timeout
    deadline.check(sent=sent)
    return deadline.left() if timeout is None else min(timeout, deadline.left())
