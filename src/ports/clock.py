"""The clock; the standard library's `time` module is one."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Two readings of the time, in seconds."""

    def time(self) -> float:
        """The wall clock since the epoch: shared by processes, may jump."""
        ...

    def monotonic(self) -> float:
        """A clock of this process that only goes forward."""
        ...
