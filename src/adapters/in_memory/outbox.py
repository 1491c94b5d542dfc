"""The outbox port in memory: for a host without a disk, for tests and for demos."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Generator, Mapping, Sequence
from itertools import count, islice

from honcho_memory.adapters.forks import PausedAtFork
from honcho_memory.adapters.in_memory.lanes import Queue, Row, Schedule
from honcho_memory.domain.errors import OutboxFull, OutboxUnavailable
from honcho_memory.ports.outbox import Claim, Draft, Lane, Queued, Refused, Tally, Waiting

LONGEST_WAIT = 3600.0
"""Seconds; longer than any lease or back-off: a lane due later than that was given its time by
a clock that has since been put back."""
KEPT_KEYS = 50
"""Of a lane, of messages that are delivered, dropped or discarded."""
KEPT_KEYS_SECONDS = 30 * 86_400.0
REMEMBERED = 50_000
"""Keys and lanes of messages that are gone, in all; beyond it the lane goes that was idle
longest. A key that is lost costs a question to Honcho."""
KEPT_MARKS = 10_000


class InMemoryOutbox:
    """Turn messages in the memory of this process, lost when it ends.

    A process that is forked from this one inherits what was seen but none of what waits: that
    is its parent's to deliver.

    Args:
        max_messages: How many messages may wait or be set aside.
        max_bytes: How many bytes of UTF-8 content they may have together.
    """

    def __init__(self, *, max_messages: int = 10_000, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._messages = 0
        self._bytes = 0
        self._numbers = count(1)
        self._queues: dict[Lane, Queue] = {}
        self._schedule = Schedule()
        # Lanes with ended messages, the one that delivered last at the end.
        self._remembered: OrderedDict[Lane, Queue] = OrderedDict()
        self._weight = 0
        self._marks: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._is_closed = False
        self._lock = threading.Lock()
        _forks.add(self)

    @contextlib.contextmanager
    def _use(self) -> Generator[None, None, None]:
        with self._lock:
            if self._is_closed:
                raise OutboxUnavailable("The outbox is closed.")
            yield

    def known(self, lane: Lane, keys: Collection[str]) -> set[str]:
        """See `Outbox.known`."""
        with self._use():
            queue = self._queues.get(lane)
            return set() if queue is None else {key for key in keys if key in queue.keys}

    def put(self, lane: Lane, drafts: Sequence[Draft], *, now: float) -> int:
        """See `Outbox.put`."""
        with self._use():
            queue = self._queues.get(lane) or Queue(lane, next(self._numbers))
            unseen: dict[str, Draft] = {}
            for draft in drafts:
                if draft.message.key not in queue.keys:
                    unseen.setdefault(draft.message.key, draft)
            if not unseen:
                return 0
            new = [(draft, _size(draft)) for draft in unseen.values()]
            self._reserve(len(new), sum(size for _, size in new))
            self._queues[lane] = queue
            for draft, size in new:
                self._append(queue, draft, size, now)
            self._schedule.set_due(queue, now if queue.due is None else queue.due)
            return len(new)

    def _reserve(self, messages: int, size: int) -> None:
        if self._messages + messages > self._max_messages or self._bytes + size > self._max_bytes:
            raise OutboxFull(
                f"The outbox is full: at most {self._max_messages} messages and "
                f"{self._max_bytes} bytes may wait for delivery."
            )
        self._messages += messages
        self._bytes += size

    def _append(self, queue: Queue, draft: Draft, size: int, now: float) -> None:
        message = draft.message
        if queue.latest is not None and message.created_at < queue.latest:
            message = dataclasses.replace(message, created_at=queue.latest)
        queue.latest = message.created_at
        number = next(self._numbers)
        queue.keys.add(message.key)
        queue.waiting[number] = Row(
            Waiting(
                number,
                message,
                draft.doubtful,
                draft.builtin_digest,
                now,
                draft.owner,
                draft.said_at,
            ),
            size,
        )

    def drop(self, lane: Lane, keys: Collection[str], *, now: float) -> int:
        """See `Outbox.drop`."""
        with self._use():
            queue = self._queues.get(lane)
            if queue is None:
                return 0
            unwanted = set(keys)
            dropped = [
                number
                for number, row in queue.waiting.items()
                if row.waiting.message.key in unwanted
            ]
            self._end(queue, dropped, now)
            return len(dropped)

    def forget(
        self, server: str, workspace: str, owner: str, *, until: float, now: float
    ) -> Sequence[Lane]:
        """See `Outbox.forget`."""
        with self._use():
            touched: list[Lane] = []
            for queue in list(self._queues.values()):
                if (queue.lane.server, queue.lane.workspace) == (server, workspace):
                    numbers = [
                        number
                        for number, row in [*queue.waiting.items(), *queue.set_aside.items()]
                        if row.waiting.owner == owner and row.waiting.said_at <= until
                    ]
                    if self._end(queue, numbers, now):
                        touched.append(queue.lane)
            return sorted(touched, key=lambda lane: lane.session)

    def hold(self, lane: Lane, *, holder: str, now: float, lease: float) -> Claim | None:
        """See `Outbox.hold`."""
        with self._use():
            queue = self._queues.get(lane) or Queue(lane, next(self._numbers))
            if queue.holder not in {None, holder} and queue.due is not None and queue.due > now:
                return None
            self._queues[lane] = queue
            queue.holder = holder
            self._schedule.set_due(queue, now + lease)
            return Claim(lane, holder, (), queue.failures)

    def claim(
        self, server: str, *, holder: str, now: float, lease: float, limit: int, max_bytes: int
    ) -> Claim | None:
        """See `Outbox.claim`."""
        with self._use():
            self._schedule.clamp(server, now + LONGEST_WAIT)
            first = self._schedule.first(server)
            if first is None or first[0] > now:
                return None
            _, queue = first
            rows: list[Waiting] = []
            total = 0
            for row in islice(queue.waiting.values(), limit):
                if rows and total + row.size > max_bytes:
                    break
                total += row.size
                rows.append(row.waiting)
                row.waiting = dataclasses.replace(row.waiting, doubtful=True)
            queue.holder = holder
            self._schedule.set_due(queue, now + lease)
            return Claim(queue.lane, holder, tuple(rows), queue.failures)

    def renew(self, claim: Claim, *, now: float, lease: float) -> bool:
        """See `Outbox.renew`; a lease that has run out can be renewed until somebody claims."""
        with self._use():
            queue = self._queues.get(claim.lane)
            if queue is None or queue.holder != claim.holder:
                return False
            self._schedule.set_due(queue, now + lease)
            return True

    def delivered(self, claim: Claim, numbers: Collection[int], *, now: float) -> None:
        """See `Outbox.delivered`; true whoever reports it, so a lost claim is no obstacle."""
        with self._use():
            queue = self._queues.get(claim.lane)
            if queue is None:
                return
            if self._end(queue, numbers, now):
                queue.failures = 0

    def set_aside(
        self,
        claim: Claim,
        reasons: Mapping[int, str],
        *,
        now: float,  # noqa: ARG002 - the port's, nothing depends on it here
    ) -> None:
        """See `Outbox.set_aside`; true whoever reports it, so a lost claim is no obstacle."""
        with self._use():
            queue = self._queues.get(claim.lane)
            if queue is None:
                return
            for number, reason in reasons.items():
                row = queue.waiting.pop(number, None)
                if row is not None:
                    row.reason = reason
                    queue.set_aside[number] = row
            self._rest_if_done(queue)

    def release(self, claim: Claim, *, due: float, failed: bool = False) -> None:
        """See `Outbox.release`."""
        with self._use():
            queue = self._queues.get(claim.lane)
            if queue is None or queue.holder != claim.holder:
                return
            queue.holder = None
            queue.failures += failed
            self._schedule.set_due(queue, due)
            self._rest_if_done(queue)

    def next_due(self, server: str) -> float | None:
        """See `Outbox.next_due`."""
        with self._use():
            first = self._schedule.first(server)
            return None if first is None else first[0]

    def tally(self, server: str) -> Tally:
        """See `Outbox.tally`."""
        with self._use():
            here = [queue for queue in self._queues.values() if queue.lane.server == server]
            waiting = sum(len(queue.waiting) for queue in here)
            everywhere = sum(len(queue.waiting) for queue in self._queues.values())
            set_aside = sum(len(queue.set_aside) for queue in here)
            return Tally(waiting, set_aside, elsewhere=everywhere - waiting)

    def servers(self) -> Sequence[str]:
        """See `Outbox.servers`."""
        with self._use():
            busy = [queue for queue in self._queues.values() if queue.waiting or queue.set_aside]
            return sorted({queue.lane.server for queue in busy})

    def queued(self, server: str) -> Sequence[Queued]:
        """See `Outbox.queued`."""
        with self._use():
            queued = [
                Queued(number, queue.lane, row.waiting.message, row.waiting.accepted_at)
                for queue in self._queues.values()
                if queue.lane.server == server
                for number, row in queue.waiting.items()
            ]
        return sorted(queued, key=lambda each: each.number)

    def refused(self, server: str) -> Sequence[Refused]:
        """See `Outbox.refused`."""
        with self._use():
            refused = [
                Refused(number, queue.lane, row.waiting.message, row.reason)
                for queue in self._queues.values()
                if queue.lane.server == server
                for number, row in queue.set_aside.items()
            ]
        return sorted(refused, key=lambda each: each.number)

    def retry(self, numbers: Collection[int], *, now: float) -> int:
        """See `Outbox.retry`."""
        with self._use():
            found = self._find_set_aside(numbers)
            for queue, number in found:
                row = queue.set_aside.pop(number)
                row.waiting = dataclasses.replace(row.waiting, doubtful=True)
                queue.waiting[number] = row
            for queue in {queue for queue, _ in found}:
                queue.waiting = dict(sorted(queue.waiting.items()))
                self._schedule.set_due(queue, now if queue.due is None else queue.due)
            return len(found)

    def discard(self, numbers: Collection[int], *, now: float) -> int:
        """See `Outbox.discard`."""
        with self._use():
            found = self._find_set_aside(numbers)
            for queue, number in found:
                self._end(queue, [number], now)
            return len(found)

    def _find_set_aside(self, numbers: Collection[int]) -> list[tuple[Queue, int]]:
        wanted = set(numbers)
        return [
            (queue, number)
            for queue in self._queues.values()
            for number in queue.set_aside
            if number in wanted
        ]

    def mark(self, server: str, name: str, value: str) -> None:
        """See `Outbox.mark`; beyond many thousands, the one that was set first is forgotten."""
        with self._use():
            self._marks[server, name] = value
            self._marks.move_to_end((server, name))
            if len(self._marks) > KEPT_MARKS:
                self._marks.popitem(last=False)

    def marked(self, server: str, name: str) -> str | None:
        """See `Outbox.marked`."""
        with self._use():
            return self._marks.get((server, name))

    def tidy(self, *, now: float) -> None:
        """See `Outbox.tidy`."""
        with self._use():
            for queue in list(self._queues.values()):
                old = [
                    number
                    for number, (_, ended_at) in queue.ended.items()
                    if ended_at < now - KEPT_KEYS_SECONDS
                ]
                queue.forget_ended(old)
                if queue.weight:
                    self._weigh(queue)
                # A holder that vanished between its delivery and the release.
                if not queue.waiting and queue.due is not None and queue.due <= now:
                    queue.holder = None
                self._rest_if_done(queue)

    def close(self) -> None:
        """See `Outbox.close`."""
        with self._lock:
            self._is_closed = True

    def _end(self, queue: Queue, numbers: Collection[int], now: float) -> bool:
        """Keep of messages nothing but their keys; False when they had ended before."""
        any_ended = False
        for number in numbers:
            row = queue.waiting.pop(number, None) or queue.set_aside.pop(number, None)
            if row is not None:
                queue.ended[number] = (row.waiting.message.key, now)
                self._messages -= 1
                self._bytes -= row.size
                any_ended = True
        if any_ended:
            queue.forget_ended(sorted(queue.ended)[:-KEPT_KEYS])
            self._remember(queue)
            self._rest_if_done(queue)
        return any_ended

    def _rest_if_done(self, queue: Queue) -> None:
        """Make a lane idle that nobody holds and that has nothing left to deliver."""
        is_done = queue.holder is None and not queue.waiting
        self._schedule.set_due(queue, None if is_done else queue.due)
        if queue.is_idle and not queue.weight:
            self._queues.pop(queue.lane, None)

    def _remember(self, queue: Queue) -> None:
        """Count what is left of ended messages, and forget the oldest where it is too much."""
        self._weigh(queue)
        self._remembered[queue.lane] = queue
        self._remembered.move_to_end(queue.lane)
        while self._weight > REMEMBERED:
            _, oldest = self._remembered.popitem(last=False)
            self._weight -= oldest.weight
            oldest.weight = 0
            oldest.forget_ended(list(oldest.ended))
            self._rest_if_done(oldest)

    def _weigh(self, queue: Queue) -> None:
        weight = 1 + len(queue.ended)
        self._weight += weight - queue.weight
        queue.weight = weight

    def pause(self) -> None:
        """Keep everybody out until `resume`."""
        self._lock.acquire()

    def resume(self) -> None:
        """Let everybody in again."""
        self._lock.release()

    def disown(self, *, now: float) -> None:
        """Leave what waits, is set aside or is held to the process that this was forked from."""
        with self._lock:
            for queue in list(self._queues.values()):
                queue.holder = None
                self._end(queue, [*queue.waiting, *queue.set_aside], now)
                self._rest_if_done(queue)


_forks = PausedAtFork[InMemoryOutbox](lambda outbox: outbox.disown(now=time.time()))


def _size(draft: Draft) -> int:
    return len(draft.message.content.encode("utf-8", "surrogatepass"))
