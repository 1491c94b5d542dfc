"""A total time for one call, held by every read and write of its connection."""

from __future__ import annotations

import pytest

from honcho_memory.adapters.honcho_http.deadline import (
    Deadline,
    DeadlinePassed,
    hold_to_deadlines,
    running,
)
from honcho_memory.adapters.in_memory import ManualClock


class Stream:
    """A connection on which everything takes a second."""

    def __init__(self, clock: ManualClock) -> None:
        self.timeouts: list[float | None] = []
        self.written = b""
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.timeouts.append(timeout)
        self._clock.advance(1)
        return b"x" * max_bytes

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.timeouts.append(timeout)
        self._clock.advance(1)
        self.written += buffer


@pytest.fixture
def clock() -> ManualClock:
    """The time that the deadline counts in."""
    return ManualClock()


@pytest.fixture
def stream(clock: ManualClock) -> Stream:
    """A connection that is held to deadlines."""
    stream = Stream(clock)
    hold_to_deadlines(stream)
    return stream


def test_every_read_has_what_is_left(stream: Stream, clock: ManualClock) -> None:
    """A time-out that would begin anew with each byte does not."""
    with running(Deadline(clock, 2.5)):
        assert b"xx" == stream.read(2, 10.0)
        assert b"x" == stream.read(1, None)
        stream.read(1, 0.25)
        with pytest.raises(DeadlinePassed) as caught:
            stream.read(1, 10.0)

    assert [2.5, 1.5, 0.25] == stream.timeouts
    assert caught.value.sent


def test_a_request_that_is_taken_slowly_is_not_sent_to_its_end(
    stream: Stream, clock: ManualClock
) -> None:
    """A request that lacks its end is not carried out, so it was not sent."""
    body = bytes(range(256)) * 400

    with running(Deadline(clock, 2.5)), pytest.raises(DeadlinePassed) as caught:
        stream.write(body, 10.0)

    assert [2.5, 1.5, 0.5] == stream.timeouts
    assert body.startswith(stream.written)
    assert len(stream.written) < len(body)
    assert not caught.value.sent


def test_all_of_a_request_is_written(stream: Stream, clock: ManualClock) -> None:
    """In pieces, in order, and nothing for nothing."""
    body = bytes(range(256)) * 400

    with running(Deadline(clock, 60)):
        stream.write(b"")
        stream.write(body)

    assert body == stream.written


def test_another_use_of_the_connection_has_its_own_time(stream: Stream, clock: ManualClock) -> None:
    """A deadline holds for its request alone, not for the next on the same connection."""
    with running(Deadline(clock, 0.5)):
        stream.read(1)

    stream.read(1, 7.0)
    with running(Deadline(clock, 3)):
        stream.read(1, 9.0)

    assert [0.5, 7.0, 3.0] == stream.timeouts
