"""The way to Honcho: every request goes through here, bounded in time and in number."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.errors import HonchoRequestError, HonchoUnavailable
from honcho_memory.ports.clock import Clock

T = TypeVar("T")


class Requests:
    """Runs requests on threads of its own and stops waiting for them in time.

    A name resolution that hangs cannot be interrupted: its thread is left to end by itself.
    There are never more than `limit` of them; those of the process that this one was forked from
    do not count.

    Args:
        state: Holds requests back while Honcho is down.
        clock: Its monotonic reading counts.
        limit: How many requests may be under way.
    """

    def __init__(self, state: ServerState, clock: Clock, *, limit: int) -> None:
        self._state = state
        self._clock = clock
        self._limit = limit
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._free = threading.BoundedSemaphore(self._limit)
        self._overdue: set[Future[Any]] = set()

    def until(self, seconds: float) -> Callable[[], float]:
        """How much is left of so many seconds, each time that it is called."""
        deadline = self._clock.monotonic() + seconds
        return lambda: max(0.0, deadline - self._clock.monotonic())

    def run(self, call: Callable[[float], T], *, timeout: float) -> T:
        """Make one request and wait for its end; see `start` and `Pending.result`."""
        return self.start(call, timeout=timeout).result()

    def start(
        self,
        call: Callable[[float], T],
        *,
        timeout: float,
        beside: Pending[Any] | None = None,
    ) -> Pending[T]:
        """Make one request beside others.

        Where too many are under way it waits for one to end, unless all of those should have
        ended already.

        Args:
            call: Makes it; is given the seconds that are left.
            timeout: The seconds that it may take, waiting included.
            beside: A request that was let through and stands for this one too.

        Raises:
            HonchoUnavailable: It is not let through, because Honcho is known to be down, too
                many requests are under way or the process can have no more threads; nothing
                was sent.
        """
        if self._pid != os.getpid():
            self._reset()
        deadline = self._clock.monotonic() + timeout
        ticket = self._state.enter() if beside is None else beside.ticket
        has_room = len(self._overdue) < self._limit
        if not has_room or not self._free.acquire(timeout=max(0.0, timeout)):
            raise HonchoUnavailable("too many requests to Honcho are under way and do not end")
        future: Future[T] = Future()
        pending = Pending(ticket, future, self._state, self._clock, deadline, self._overdue)
        thread = threading.Thread(
            # In the caller's context: what watches the host sees whose request it is.
            target=contextvars.copy_context().run,
            args=(self._work, future, ticket, call, deadline),
            name="honcho-request",
            daemon=True,
        )
        try:
            thread.start()
        except RuntimeError as error:  # the process can have no more threads for now
            self._free.release()
            raise HonchoUnavailable(f"a request to Honcho cannot be made: {error}") from error
        return pending

    def _work(
        self, future: Future[T], ticket: int, call: Callable[[float], T], deadline: float
    ) -> None:
        try:
            try:
                left = deadline - self._clock.monotonic()
                if left < 0:  # a process that was stopped must not send what it has given up
                    raise HonchoUnavailable("a request to Honcho began too late and was not sent")
                result = call(left)
            finally:
                self._free.release()
        except HonchoRequestError as error:
            self._state.failed(error, ticket)
            future.set_exception(error)
        except Exception as error:  # noqa: BLE001 - handed over to whoever waits
            future.set_exception(error)
        except BaseException as error:  # noqa: BLE001 - it is not the waiting thread's to die of
            future.set_exception(RuntimeError(f"a request ended with {type(error).__name__}"))
        else:
            self._state.answered()
            future.set_result(result)


@dataclass(frozen=True, slots=True)
class Pending(Generic[T]):
    """A request that is under way.

    Attributes:
        ticket: With which it was let through.
    """

    ticket: int
    _future: Future[T]
    _state: ServerState
    _clock: Clock
    _deadline: float
    _overdue: set[Future[Any]]

    def result(self) -> T:
        """Wait for the end of the request.

        Raises:
            HonchoRequestError: It failed, or its time is up; then it may still be carried out.
        """
        try:
            return self._future.result(timeout=max(0.0, self._deadline - self._clock.monotonic()))
        except FutureTimeout:
            late = HonchoUnavailable("Honcho did not answer in time", outcome_unknown=True)
            self._overdue.add(self._future)
            self._future.add_done_callback(self._overdue.discard)
            self._state.failed(late, self.ticket)
            raise late from None
