"""A total time for one call, in the form that httpx can work with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from honcho_memory.ports.clock import Clock

_SHORTEST = 0.001
"""Zero would mean to httpcore's sockets: do not wait at all, and fail in other ways."""
_PHASES = ("connect", "read", "write", "pool")


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
    together take no longer than the deadline. Within a phase it counts from one system call to
    the next: a server that drips its answer has to be stopped between the chunks.

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
