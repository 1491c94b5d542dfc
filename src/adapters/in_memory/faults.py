"""Switches that make a Honcho kept in memory fail, in the ways that networks and servers do."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from honcho_memory.adapters.in_memory.clock import ManualClock
from honcho_memory.domain.errors import HonchoRequestError, HonchoUnavailable

Operation = Literal[
    "add_messages",
    "configure_peer",
    "create_conclusions",
    "delete_conclusion",
    "delete_session",
    "delete_workspace",
    "find_messages",
    "health",
    "list_conclusions",
    "peer_card",
    "peer_metadata",
    "peer_sessions",
    "put_peer_card",
    "put_peer_metadata",
    "query_conclusions",
    "representation",
    "search_messages",
    "session_peers",
]
"""A method of the port."""

_LONGEST_WAIT = 30.0
"""Seconds for which a test waits for a request that does not come."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """A call that was made.

    Attributes:
        operation: The method.
        workspace: Where.
        session: Of which session, if of one.
        peer: Of which peer, if of one; the author that a search is for.
        count: How many messages, keys or conclusions it carries, if any.
    """

    operation: Operation
    workspace: str
    session: str | None = None
    peer: str | None = None
    count: int = 0


class Fault:
    """What happens to the next requests of a kind; `Faults` makes them."""

    def __init__(self, operation: Operation | None, times: int | None, act: _Act) -> None:
        self._operation = operation
        self._left = times
        self._act = act
        self._changed = threading.Condition()
        self._hits = 0
        self._is_released = False
        self._is_abandoned = False
        self._late: list[Callable[[], object]] = []

    @property
    def hits(self) -> int:
        """How many requests it happened to so far."""
        return self._hits

    def stop(self) -> None:
        """Happen to no further request."""
        with self._changed:
            self._left = 0

    def release(self) -> None:
        """Let requests go on that this holds up, and carry out what it put off; from now on too.

        What was put off is carried out in this thread, in the order in which it came, and is
        done when this returns.
        """
        with self._changed:
            self._is_released = True
            self._changed.notify_all()
            late, self._late = self._late, []
        for carry_out in late:
            _carry_out_unheard(carry_out)

    def wait_until_hit(self, times: int = 1) -> None:
        """Wait until it has happened to so many requests.

        Raises:
            TimeoutError: They do not come.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._hits >= times, _LONGEST_WAIT):
                raise TimeoutError(f"{self._hits} requests of {times} came")

    def take(self, operation: Operation) -> bool:
        """Claim a request; False when it is none of those."""
        with self._changed:
            if self._operation not in {None, operation} or self._left == 0:
                return False
            if self._left is not None:
                self._left -= 1
            self._hits += 1
            self._changed.notify_all()
            return True

    def happen(self, carry_out: Callable[[], T], timeout: float) -> T:
        """Deal with a request that was claimed."""
        return self._act(self, carry_out, timeout)

    def abandon(self) -> None:
        """The client hangs up: what waits fails. What was put off is the server's already."""
        with self._changed:
            self._is_abandoned = True
            self._changed.notify_all()

    def wait_for_release(self) -> None:
        """Hold a request up.

        Raises:
            HonchoUnavailable: The client hung up.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_released or self._is_abandoned)
            if not self._is_released:
                raise _lost("the connection to Honcho was closed meanwhile")

    def put_off(self, carry_out: Callable[[], object]) -> None:
        """Keep a request until the release."""
        with self._changed:
            if not self._is_released:
                self._late.append(carry_out)
                return
        _carry_out_unheard(carry_out)


class _Act(Protocol):
    def __call__(self, fault: Fault, carry_out: Callable[[], T], timeout: float, /) -> T: ...


class Faults:
    """The faults that are set, each for the next `times` calls of an operation.

    `operation` names a method of the port, None all of them; `times` is None for all calls until
    `stop` or `clear`. Of several faults that fit a call, the one set first happens to it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set: list[Fault] = []

    def fail(
        self, error: Exception, *, operation: Operation | None = None, times: int | None = 1
    ) -> Fault:
        """Raise a copy of an error, and do not carry the request out."""

        def act(_fault: Fault, _carry_out: Callable[[], T], _timeout: float) -> T:
            raise copy.copy(error)

        return self._add(operation, times, act)

    def slow_down(
        self,
        seconds: float,
        clock: ManualClock,
        *,
        operation: Operation | None = None,
        times: int | None = 1,
    ) -> Fault:
        """Let time pass before the request is carried out.

        A call whose `timeout` is shorter fails when that is over; its request is carried out
        all the same.
        """

        def act(_fault: Fault, carry_out: Callable[[], T], timeout: float) -> T:
            clock.advance(min(seconds, timeout))
            if seconds > timeout:
                _carry_out_unheard(carry_out)
                raise _lost(f"Honcho did not answer within {timeout:g} s")
            return carry_out()

        return self._add(operation, times, act)

    def hold(self, *, operation: Operation | None = None, times: int | None = 1) -> Fault:
        """Wait until released, whatever the call's `timeout`; then carry on as usual."""
        return self._add(operation, times, _hold)

    def hang(self, *, operation: Operation | None = None, times: int | None = 1) -> Fault:
        """Never answer, whatever the call's `timeout`: it fails when released or closed.

        The request is not carried out, which the caller cannot know.
        """
        return self._add(operation, times, _hang)

    def lose_answer(self, *, operation: Operation | None = None, times: int | None = 1) -> Fault:
        """Carry the request out, and fail as if its answer had been lost."""
        return self._add(operation, times, _lose_answer)

    def carry_out_later(
        self, *, operation: Operation | None = None, times: int | None = 1
    ) -> Fault:
        """Fail at once as if the answer had been lost; carry the request out when released.

        Closing the client does not take back what is on its way.
        """
        return self._add(operation, times, _carry_out_later)

    def clear(self) -> None:
        """Take back what has not happened yet."""
        for fault in self._all():
            fault.stop()

    def close(self) -> None:
        """Let everything fail that waits, now and later."""
        for fault in self._all():
            fault.abandon()

    def meet(self, operation: Operation, carry_out: Callable[[], T], timeout: float) -> T:
        """Carry a request out, unless a fault happens to it."""
        for fault in self._all():
            if fault.take(operation):
                return fault.happen(carry_out, timeout)
        return carry_out()

    def _add(self, operation: Operation | None, times: int | None, act: _Act) -> Fault:
        fault = Fault(operation, times, act)
        with self._lock:
            self._set.append(fault)
        return fault

    def _all(self) -> list[Fault]:
        with self._lock:
            return list(self._set)


def _hold(fault: Fault, carry_out: Callable[[], T], _timeout: float) -> T:
    fault.wait_for_release()
    return carry_out()


def _hang(fault: Fault, _carry_out: Callable[[], T], timeout: float) -> T:
    fault.wait_for_release()
    raise _lost(f"Honcho did not answer within {timeout:g} s")


def _lose_answer(_fault: Fault, carry_out: Callable[[], T], _timeout: float) -> T:
    _carry_out_unheard(carry_out)
    raise _lost("Honcho's answer was lost")


def _carry_out_later(fault: Fault, carry_out: Callable[[], T], _timeout: float) -> T:
    fault.put_off(carry_out)
    raise _lost("Honcho's answer was lost")


def _carry_out_unheard(carry_out: Callable[[], object]) -> None:
    """Carry a request out; nobody hears of a refusal."""
    with contextlib.suppress(HonchoRequestError):
        carry_out()


def _lost(message: str) -> HonchoUnavailable:
    return HonchoUnavailable(message, outcome_unknown=True)
