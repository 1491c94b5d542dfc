"""What the outbox in memory keeps for each lane, and which lane is due next."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from honcho_memory.ports.outbox import Lane, Waiting


@dataclass(slots=True)
class Row:
    """A message that is waiting or set aside.

    Attributes:
        size: Bytes of UTF-8 content.
        reason: Why Honcho refused it, once it is set aside.
    """

    waiting: Waiting
    size: int
    reason: str = ""


@dataclass(slots=True, eq=False)
class Queue:
    """A lane and, by number, what is in it.

    Attributes:
        ended: The key of each message that is gone, and when it went.
        keys: Of all messages in any state.
        latest: `created_at` of the last message it accepted.
        due: None when nothing waits and nobody holds it.
        is_listed: Whether it is in its server's schedule.
        weight: What it counts for among what is remembered; 0 when it is not.
    """

    lane: Lane
    number: int
    waiting: dict[int, Row] = field(default_factory=dict[int, Row])
    set_aside: dict[int, Row] = field(default_factory=dict[int, Row])
    ended: dict[int, tuple[str, float]] = field(default_factory=dict[int, tuple[str, float]])
    keys: set[str] = field(default_factory=set[str])
    latest: datetime | None = None
    due: float | None = None
    is_listed: bool = False
    holder: str | None = None
    failures: int = 0
    weight: int = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing but memories is left of it."""
        return not self.waiting and not self.set_aside and self.holder is None

    def forget_ended(self, numbers: Collection[int]) -> None:
        """Forget the keys of messages that are gone."""
        for number in numbers:
            key, _ = self.ended.pop(number)
            self.keys.discard(key)


class Schedule:
    """The lanes in which something waits, by when they are due."""

    def __init__(self) -> None:
        self._listed: defaultdict[str, list[Queue]] = defaultdict(list)

    def set_due(self, queue: Queue, due: float | None) -> None:
        """Give a lane its time, or note that it has or has no longer something waiting."""
        listed = self._listed[queue.lane.server]
        if queue.is_listed:
            del listed[bisect_left(listed, _place(queue), key=_place)]
        queue.due = due
        queue.is_listed = due is not None and bool(queue.waiting)
        if queue.is_listed:
            insort(listed, queue, key=_place)

    def first(self, server: str) -> tuple[float, Queue] | None:
        """The lane that is due next, and when."""
        listed = self._listed[server]
        return (_due(listed[0]), listed[0]) if listed else None

    def clamp(self, server: str, latest: float) -> None:
        """Let no lane be due later than that."""
        listed = self._listed[server]
        while listed and _due(listed[-1]) > latest:
            self.set_due(listed[-1], latest)


def _due(queue: Queue) -> float:
    assert queue.due is not None  # noqa: S101 - a lane that is listed has a time
    return queue.due


def _place(queue: Queue) -> tuple[float, int]:
    return _due(queue), queue.number
