"""The threads that deliver, and waiting for them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.errors import OutboxUnavailable
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.outbox import Outbox

logger = logging.getLogger("honcho_memory")

LONGEST_SLEEP = 20.0
"""Seconds; idle threads tidy the outbox this often, so that content is gone within a minute."""
_SHORTEST_SLEEP = 0.01
_LONGEST_BLINDNESS = 1.0
"""Seconds after which who waits for delivery looks by itself."""


class Delivery:
    """Delivers in the background, several sessions at once, each in order.

    Its threads start on first use. A fork carries none over: the child starts its own.

    Args:
        deliver_next: Delivers once and returns how many messages arrived, or None when there was
            nothing to do; see `Courier.deliver_next`.
        outbox: What it empties.
        server: Whose lanes count.
        state: Says when Honcho may be tried again.
        clock: Both readings count.
        threads: How many sessions are delivered at once.
    """

    def __init__(
        self,
        deliver_next: Callable[[], int | None],
        outbox: Outbox,
        server: str,
        state: ServerState,
        clock: Clock,
        *,
        threads: int = 2,
    ) -> None:
        self._deliver_next = deliver_next
        self._outbox = outbox
        self._server = server
        self._state = state
        self._clock = clock
        self._size = threads
        self._is_closed = False
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._changes = 0
        self._threads: list[threading.Thread] = []
        self._tidied_at = self._clock.monotonic()

    def _leave_parent(self) -> None:
        """Begin anew after a fork: locks that threads of the parent held are never released."""
        if self._pid != os.getpid():
            self._reset()

    def wake(self) -> None:
        """Something waits: start the threads where needed and get on with it."""
        self._leave_parent()
        with self._changed:
            if self._is_closed:
                return
            if not self._threads:
                self._start()
            self._tell()

    def _start(self) -> None:
        for number in range(self._size):
            thread = threading.Thread(
                target=self._work, name=f"honcho-delivery-{number}", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:  # the process can have no more threads for now
                logger.warning("delivery waits: %s", error, extra=_about(error))
                return
            self._threads.append(thread)

    def flush(self, timeout: float) -> bool:
        """Wait until nothing waits, `timeout` seconds at most; returns whether nothing does."""
        deadline = self._clock.monotonic() + timeout
        self.wake()
        while True:
            seen = self._changes
            if not self._outbox.tally(self._server).waiting:
                return True
            left = deadline - self._clock.monotonic()
            if left <= 0 or self._is_closed:
                return False
            # Another process may deliver what waits, and cannot tell this one.
            self._wait_for_change(seen, min(left, _LONGEST_BLINDNESS))

    def close(self, timeout: float) -> None:
        """Stop the threads; one that a request keeps busy is left behind after `timeout`."""
        self._leave_parent()
        with self._changed:
            self._is_closed = True
            self._tell()
            threads = self._threads
        deadline = self._clock.monotonic() + timeout
        for thread in threads:
            thread.join(max(0.0, deadline - self._clock.monotonic()))

    def _tell(self) -> None:
        self._changes += 1
        self._changed.notify_all()

    def _wait_for_change(self, seen: int, timeout: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._changes != seen, timeout)

    def _work(self) -> None:
        while not self._is_closed:
            seen = self._changes
            if not self._step():
                self._wait_for_change(seen, self._sleep())

    def _step(self) -> bool:
        """Deliver once; returns whether there was something to do."""
        try:
            arrived = self._deliver_next()
        except OutboxUnavailable as error:
            logger.warning(
                "the outbox cannot be read, delivery waits: %s", error, extra=_about(error)
            )
            return False
        except BaseException as error:  # noqa: BLE001 - a dead thread would deliver nothing any more
            # Only the kind: the text of a foreign error may hold what users said.
            logger.error(  # noqa: TRY400
                "delivery failed unexpectedly and goes on: %s",
                type(error).__name__,
                extra=_about(error),
            )
            return False
        if arrived is None:
            return False
        with self._changed:
            self._tell()
        return True

    def _sleep(self) -> float:
        """Seconds until there may be something to do again."""
        try:
            self._tidy()
            due = self._outbox.next_due(self._server)
        except OutboxUnavailable:
            return LONGEST_SLEEP
        until_due = LONGEST_SLEEP if due is None else due - self._clock.time()
        return min(LONGEST_SLEEP, max(_SHORTEST_SLEEP, until_due, self._state.pause()))

    def _tidy(self) -> None:
        with self._changed:
            now = self._clock.monotonic()
            if now - self._tidied_at < LONGEST_SLEEP:
                return
            self._tidied_at = now
        self._outbox.tidy(now=self._clock.time())


def _about(error: BaseException) -> dict[str, object]:
    """What a line of the log carries beside its text."""
    return {"operation": "deliver", "error_type": type(error).__name__}
