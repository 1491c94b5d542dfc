"""The way to Honcho: every request goes through here, bounded in time and in number."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Generic, TypeVar

from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.errors import HonchoRequestError, HonchoUnavailable
from honcho_memory.ports.clock import Clock

T = TypeVar("T")


class Requests:
    """Runs requests on threads of its own and stops waiting for them in time.

    A name resolution that hangs, or an answer that comes a byte at a time, cannot be interrupted:
    its thread is left to end by itself. There are never more than `limit` of them; those of the
    process that this one was forked from do not count.

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

    def run(self, call: Callable[[float], T], *, timeout: float) -> T:
        """Make one request and wait for its end; see `start` and `Pending.result`."""
        return self.start(call, timeout=timeout).result()

    def start(self, call: Callable[[float], T], *, timeout: float) -> Pending[T]:
        """Make one request beside others.

        Args:
            call: Makes it; is given the seconds it may take.
            timeout: How many these are.

        Raises:
            HonchoUnavailable: It is not let through, because Honcho is known to be down, too
                many requests are under way or the process can have no more threads; nothing
                was sent.
        """
        if self._pid != os.getpid():
            self._reset()
        deadline = self._clock.monotonic() + timeout
        ticket = self._state.enter()
        if not self._free.acquire(blocking=False):
            raise HonchoUnavailable("too many requests to Honcho are under way and do not end")
        future: Future[T] = Future()
        pending = Pending(future, self._state, ticket, self._clock, deadline)
        thread = threading.Thread(
            target=self._work,
            args=(future, ticket, call, deadline),
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
        except BaseException as error:  # noqa: BLE001 - handed over to whoever waits
            future.set_exception(error)
        else:
            self._state.answered()
            future.set_result(result)


class Pending(Generic[T]):
    """A request that is under way."""

    def __init__(
        self, future: Future[T], state: ServerState, ticket: int, clock: Clock, deadline: float
    ) -> None:
        self._future = future
        self._state = state
        self._ticket = ticket
        self._clock = clock
        self._deadline = deadline

    def result(self) -> T:
        """Wait for the end of the request.

        Raises:
            HonchoRequestError: It failed, or its time is up; then it may still be carried out.
        """
        try:
            return self._future.result(timeout=max(0.0, self._deadline - self._clock.monotonic()))
        except FutureTimeout:
            late = HonchoUnavailable("Honcho did not answer in time", outcome_unknown=True)
            self._state.failed(late, self._ticket)
            raise late from None
