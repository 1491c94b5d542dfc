"""The memory that a host drives: one object over the use cases."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from honcho_memory.application.delivery import Delivery
from honcho_memory.application.equipment import Arrivals
from honcho_memory.application.managing import ManagedMemory, Management, text
from honcho_memory.application.read_only import ReadOnlyMemory
from honcho_memory.application.reading import ReadGate
from honcho_memory.application.recalling import Recalling
from honcho_memory.application.remembering import Accepted, Remembering
from honcho_memory.application.searching import Searching
from honcho_memory.application.server_state import Condition, Failure, ServerState
from honcho_memory.application.warming import Warming
from honcho_memory.application.writer import Writer
from honcho_memory.domain.errors import OutboxError, OutboxUnavailable, loggable
from honcho_memory.domain.identity import Identities, User, workspace_hash
from honcho_memory.domain.results import Cleared, Found, Outcome, Recall
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.outbox import Outbox, Tally

logger = logging.getLogger("honcho_memory")

CLOSE_TIMEOUT = 5.0
"""Seconds that closing may wait for requests that are under way."""
LONGEST_FLUSH = 86_400.0
SETTLE_TIMEOUT = 5.0
"""Seconds that a hand-over waits for those before it that came without waiting."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What has become of what was said; counted since this process started.

    Attributes:
        accepted: Messages taken into the outbox.
        refused: Hand-overs that could not be taken; they are taken when they come again.
        delivered: Messages that arrived in Honcho.
        tally: What is in the outbox now, whoever put it there; None when it cannot be read.
        last_success: When a message last arrived, in seconds since the epoch.
        server: How Honcho is, as far as is known.
        last_failure: The last request to Honcho that failed.
    """

    accepted: int
    refused: int
    delivered: int
    tally: Tally | None
    last_success: float | None
    server: Condition
    last_failure: Failure | None


@dataclass(frozen=True, slots=True)
class Parts:
    """What a memory is made of.

    Attributes:
        reopen_outbox: Opens the outbox once more for what arrives after `close`; None where
            nothing of it would survive.
        inline_timeout: Seconds that `remember` waits for delivery and then gives up; None
            when it does not wait.
        on_close: Releases what the memory was built with.
    """

    identities: Identities
    outbox: Outbox
    remembering: Remembering
    delivery: Delivery
    arrivals: Arrivals
    recalling: Recalling
    searching: Searching
    warming: Warming
    management: Management
    gate: ReadGate
    state: ServerState
    server: str
    clock: Clock
    reopen_outbox: Callable[[], Outbox] | None = None
    inline_timeout: float | None = None
    on_close: Callable[[], None] = lambda: None


class HonchoMemory(ManagedMemory):
    """The long-term memory of a host's users, see `honcho_memory.ports.host.Memory`.

    Built by `honcho_memory.open_memory`. A context manager: leaving it flushes for
    `CLOSE_TIMEOUT` seconds at most, and closes.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts.identities, parts.management, parts.gate)
        self._parts = parts
        self._writer = Writer()
        self._lock = threading.Lock()
        self._is_closed = False
        self._accepted = 0
        self._refused = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.flush(CLOSE_TIMEOUT)
        self.close()

    def remember(
        self,
        thread_id: str,
        messages: Sequence[object],
        *,
        user_id: str | None,
        agent_name: str | None = None,
        trace_id: str | None = None,
    ) -> int:
        """Take over what is new in a thread; see `Memory.remember`."""
        self._writer.settle(SETTLE_TIMEOUT)
        context = {"agent_name": agent_name, "trace_id": trace_id}
        return self._remember(thread_id, messages, user_id, context)

    def remember_nowait(
        self,
        thread_id: str,
        messages: Sequence[object],
        *,
        user_id: str | None,
        agent_name: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Like `remember`, from a thread of the library's own; see `Memory.remember_nowait`."""
        context = {"agent_name": agent_name, "trace_id": trace_id}
        try:
            snapshot = list(messages)
            is_taken = self._writer.submit(
                lambda: self._remember(thread_id, snapshot, user_id, context)
            )
        except Exception as error:  # noqa: BLE001 - a memory must not fail the host's run
            self._refuse(error)
            return
        if not is_taken:
            self._refuse(OutboxError("too many hand-overs wait to be written"))

    def recall(self, user_id: str | None, *, query: str | None = None) -> Recall:
        """What is known of a user; see `Memory.recall`."""

        def read() -> Recall:
            user = self._user(user_id)
            if user is None:
                return Recall(outcome=Outcome.NOBODY)
            return self._parts.recalling.recall(user, query)

        return self._parts.gate.read(
            read, lambda error: Recall(outcome=Outcome.FAILED, error=error)
        )

    def search(
        self,
        query: str,
        *,
        user_id: str | None,
        top_k: int = 5,
        category: str | None = None,
    ) -> Found:
        """Facts and messages near a text; see `Memory.search`."""

        def read() -> Found:
            user = self._user(user_id)
            if user is None:
                return Found(is_asked=False)
            return self._parts.searching.search(user, query, top_k=top_k, category=category)

        return self._parts.gate.read(read, lambda error: Found(error=error))

    def clear(self, user_id: str | None) -> Cleared:
        """Clear a user's memory; see `Memory.clear`."""
        # What was handed over before is said before.
        self._writer.settle(SETTLE_TIMEOUT)
        try:
            return super().clear(user_id)
        finally:
            self._parts.delivery.wake()

    def read_only(self) -> ReadOnlyMemory:
        """A view for whoever must not add to this memory, such as a scheduled task."""
        return ReadOnlyMemory(self)

    def warm(self) -> None:
        """Say whether Honcho can be used, and get on with what waits; see `Memory.warm`."""
        self._parts.warming.warm()
        self._parts.delivery.wake()

    def is_usable(self) -> bool:
        """Whether Honcho can be used, as far as is known; see `Memory.is_usable`."""
        state = self._parts.state
        if state.condition is not Condition.OK:
            # Whoever is asked nothing while it is down would never learn that it is back.
            self.warm()
        return state.condition is Condition.OK

    def flush(self, timeout: float) -> bool:
        """Wait until nothing waits to be delivered; see `Memory.flush`."""
        # A host's arithmetic may go wrong, and no clock counts to infinity.
        timeout = 0.0 if math.isnan(timeout) else min(max(0.0, timeout), LONGEST_FLUSH)
        clock = self._parts.clock
        deadline = clock.monotonic() + timeout
        is_written = self._writer.settle(timeout)
        try:
            left = max(0.0, deadline - clock.monotonic())
            is_empty = self._parts.delivery.flush(left) and is_written
            waiting = 0 if is_empty else self._parts.outbox.tally(self._parts.server).waiting
        except OutboxError as error:
            logger.warning(
                "it is not known whether everything is delivered: %s",
                error,
                extra={"operation": "flush", "error_type": type(error).__name__},
            )
            return False
        if waiting:
            logger.info(
                "%d messages still wait to be delivered",
                waiting,
                extra={"operation": "flush", "count": waiting},
            )
        return is_empty

    def stats(self) -> Stats:
        """Counts, and how Honcho is."""
        parts = self._parts
        try:
            tally = parts.outbox.tally(parts.server)
        except OutboxError:
            tally = None
        return Stats(
            accepted=self._accepted,
            refused=self._refused,
            delivered=parts.arrivals.count,
            tally=tally,
            last_success=parts.arrivals.latest,
            server=parts.state.condition,
            last_failure=parts.state.last_failure,
        )

    def close(self) -> None:
        """Stop in bounded time; see `Memory.close`."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._writer.settle(SETTLE_TIMEOUT)
        self._parts.delivery.close(CLOSE_TIMEOUT)
        self._say_what_waits()
        self._parts.on_close()

    def _say_what_waits(self) -> None:
        try:
            waiting = self._parts.outbox.tally(self._parts.server).waiting
        except OutboxError:
            return  # whoever closed it knows
        if not waiting:
            return
        is_lost = self._parts.reopen_outbox is None
        logger.warning(
            "%d messages are lost with this process: no storage_path"
            if is_lost
            else "%d messages wait on disk for the next start",
            waiting,
            extra={"operation": "close", "count": waiting},
        )

    def _remember(
        self,
        thread_id: object,
        messages: Iterable[object],
        user_id: str | None,
        context: dict[str, str | None],
    ) -> int:
        try:
            user = self._user(user_id)
            if user is None:
                logger.debug("nothing is remembered of nobody")
                return 0
            if not isinstance(messages, Sequence):
                messages = list(messages)
            accepted = self._accept(text("thread id", thread_id), messages, user, context)
        except Exception as error:  # noqa: BLE001 - a memory must not fail the host's run
            self._refuse(error)
            return 0
        with self._lock:
            self._accepted += accepted
        return accepted

    def _accept(
        self,
        thread_id: str,
        messages: Sequence[object],
        user: User,
        context: dict[str, str | None],
    ) -> int:
        parts = self._parts
        try:
            accepted = parts.remembering.accept(
                parts.outbox, thread_id, messages, user, context=context
            )
        except OutboxUnavailable:
            if not self._is_closed or parts.reopen_outbox is None:
                raise
            outbox = parts.reopen_outbox()
            try:
                return parts.remembering.accept(
                    outbox, thread_id, messages, user, context=context
                ).count
            finally:
                outbox.close()
        if accepted.count:
            parts.delivery.wake()
            if parts.inline_timeout is not None:
                self._deliver_now(accepted, parts.inline_timeout)
        return accepted.count

    def _deliver_now(self, accepted: Accepted, timeout: float) -> None:
        """Wait for delivery, and drop what does not arrive in time: at most once."""
        if self._parts.delivery.flush(timeout):
            return
        outbox = self._parts.outbox
        dropped = outbox.drop(accepted.lane, accepted.keys, now=self._parts.clock.time())
        if dropped:
            logger.warning(
                "%d messages could not be delivered in time and are dropped",
                dropped,
                extra={
                    "operation": "remember",
                    "count": dropped,
                    "workspace_hash": workspace_hash(accepted.lane.workspace),
                },
            )

    def _refuse(self, error: Exception) -> None:
        with self._lock:
            self._refused += 1
        logger.warning(
            "a hand-over could not be taken into memory: %s",
            loggable(error),
            extra={"operation": "remember", "error_type": type(error).__name__},
        )
