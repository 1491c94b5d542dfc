"""A clock that a test holds in its hands."""

from __future__ import annotations

import threading

START = 1_796_083_200.0
"""1 December 2026, midnight UTC."""


class ManualClock:
    """A `ports.clock.Clock` that stands still until it is moved; safe to use from many threads.

    Args:
        start: The wall clock to begin with, in seconds since the epoch.
    """

    def __init__(self, start: float = START) -> None:
        self._lock = threading.Lock()
        self._time = start
        self._monotonic = 0.0

    def time(self) -> float:
        """See `Clock.time`."""
        with self._lock:
            return self._time

    def monotonic(self) -> float:
        """See `Clock.monotonic`; 0 at first."""
        with self._lock:
            return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ValueError: `seconds` is negative: time does not go back, only wall clocks do.
        """
        if seconds < 0:
            raise ValueError(f"time cannot pass by {seconds} s; jump() puts a wall clock back")
        with self._lock:
            self._time += seconds
            self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock alone, forward or back, as an operator does."""
        with self._lock:
            self._time += seconds
