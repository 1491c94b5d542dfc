"""The clock that a test holds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import ManualClock


def test_stands_still() -> None:
    """Time does not pass unless it is told to."""
    clock = ManualClock(start=1000.0)

    assert [(1000.0, 0.0)] * 2 == [(clock.time(), clock.monotonic()) for _ in range(2)]


def test_starts_in_the_future() -> None:
    """Without a start it is midnight of 1 December 2026, UTC."""
    assert datetime(2026, 12, 1, tzinfo=UTC) == datetime.fromtimestamp(ManualClock().time(), UTC)


def test_advances_both_readings() -> None:
    """Time that passes shows on the wall and in the process."""
    clock = ManualClock(start=1000.0)

    clock.advance(2.5)
    clock.advance(0)

    assert (1002.5, 2.5) == (clock.time(), clock.monotonic())


def test_jumps_on_the_wall_alone() -> None:
    """A wall clock that is set forward or back leaves the process's time alone."""
    clock = ManualClock(start=1000.0)

    clock.advance(1)
    clock.jump(-3600)

    assert (1001.0 - 3600, 1.0) == (clock.time(), clock.monotonic())


def test_time_does_not_go_back() -> None:
    """Time that passes backwards is a mistake in the test."""
    clock = ManualClock()

    with pytest.raises(ValueError, match="-1 s"):
        clock.advance(-1)

    assert clock.monotonic() == 0
