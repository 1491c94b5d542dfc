"""The server behind `InMemoryHoncho`, and the way to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from honcho_memory.adapters.in_memory import limits
from honcho_memory.adapters.in_memory.faults import Faults, Request
from honcho_memory.adapters.in_memory.store import Store
from honcho_memory.domain.errors import HonchoUnavailable
from honcho_memory.ports.clock import Clock

_T = TypeVar("_T")


class InMemoryServer:
    """Carries requests out one at a time, unless a fault happens to them."""

    def __init__(self, *, clock: Clock = time) -> None:
        self.faults = Faults()
        self._clock = clock
        self._lock = threading.Lock()
        self._store = Store()
        self._requests: list[Request] = []
        self._is_closed = False

    def close(self) -> None:
        """See `Honcho.close`; what is held can still be looked at."""
        with self._lock:
            self._is_closed = True
        self.faults.close()

    @property
    def requests(self) -> list[Request]:
        """The calls that were made so far, those included that failed."""
        with self._lock:
            return list(self._requests)

    def forget_requests(self) -> None:
        """Begin `requests` anew."""
        with self._lock:
            self._requests.clear()

    def _ask(self, request: Request, carry_out: Callable[[], _T], timeout: float) -> _T:
        with self._lock:
            if self._is_closed:
                raise HonchoUnavailable("the Honcho in memory has been closed")
            self._requests.append(request)

        def carry_out_alone() -> _T:
            with self._lock:
                return carry_out()

        return self.faults.meet(request.operation, carry_out_alone, timeout)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.time(), UTC)


def page_of(items: Sequence[_T], page: int) -> tuple[tuple[_T, ...], bool]:
    """One page of a list, and whether another follows.

    Raises:
        HonchoRejected: There are no pages before the first.
    """
    limits.check_page(page)
    end = page * limits.LARGEST_BATCH
    return tuple(items[end - limits.LARGEST_BATCH : end]), end < len(items)
