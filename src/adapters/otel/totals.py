"""What the memories of a process have come to together."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Hashable
from typing import NamedTuple, Protocol

from honcho_memory.application.memory import Stats
from honcho_memory.ports.outbox import Tally


class Counts(NamedTuple):
    """What only grows; see `Stats`."""

    accepted: int = 0
    delivered: int = 0
    refused: int = 0

    def plus(self, other: Counts, times: int = 1) -> Counts:
        """Both together."""
        return Counts(*(mine + times * yours for mine, yours in zip(self, other, strict=True)))


class Counting(Protocol):
    """A memory, as far as it is counted."""

    @property
    def place(self) -> Hashable:
        """Where its messages wait, which another memory may share."""
        ...

    def counts(self) -> Counts:
        """What it has counted so far, read without waiting for anything."""
        ...

    def stats(self) -> Stats:
        """The same, and what is in the outbox."""
        ...


class Totals:
    """Adds up the memories of this process, and keeps none of them alive.

    A counter must not go back: what a memory had counted stays when it is closed, and also when
    it is lost without that, as of the last time that somebody looked.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[weakref.ref[Counting], Counts] = {}
        self._past = Counts()
        _all.add(self)

    def add(self, memory: Counting) -> None:
        """Count a memory from now on."""
        with self._lock:
            self._open[weakref.ref(memory)] = Counts()

    def remove(self, memory: Counting) -> None:
        """Let a memory go that was closed; it may have been already."""
        with self._lock:
            self._look()
            self._past = self._past.plus(self._open.pop(weakref.ref(memory), Counts()))

    def counts(self) -> Counts:
        """Of all memories that there were."""
        with self._lock:
            self._look()
            total = self._past
            for counts in self._open.values():
                total = total.plus(counts)
            return total

    def tallies(self) -> list[Tally]:
        """Of the outboxes of open memories, each once; those that cannot be read are left out."""
        with self._lock:
            memories = [memory for reference in self._open if (memory := reference())]
        by_place = {memory.place: memory for memory in memories}
        return [tally for memory in by_place.values() if (tally := memory.stats().tally)]

    def begin_anew(self) -> None:
        """Leave to the parent of a fork what was counted before."""
        self._lock = threading.Lock()  # a thread of the parent may have held it
        self._past = Counts()
        self._past = self._past.plus(self.counts(), times=-1)

    def _look(self) -> None:
        """Under the lock."""
        for reference in list(self._open):
            memory = reference()
            if memory is None:
                self._past = self._past.plus(self._open.pop(reference))
            else:
                self._open[reference] = memory.counts()


_all: weakref.WeakSet[Totals] = weakref.WeakSet()


def _after_fork() -> None:
    for totals in list(_all):
        totals.begin_anew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
