"""What everything works with that delivers."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from honcho_memory.application.clear_marks import ClearMarks
from honcho_memory.application.requests import Requests
from honcho_memory.domain.facts import Ledger
from honcho_memory.domain.identity import workspace_hash
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.outbox import Lane, Outbox

CLEARINGS_FRESH = 5.0
"""Seconds for which Honcho need not be asked again whether a memory was cleared."""

_MOST_MEMORIES = 1_000
"""How many memories' clearings are kept."""


@dataclass(frozen=True, slots=True)
class CourierRules:
    """What is settled for every delivery.

    Attributes:
        server: Whose lanes are delivered.
        timeout: Of one request, in seconds.
        assistant_peer: The peer of the assistant's answers.
        assistant_observed: Whether Honcho is to draw conclusions about the assistant.
    """

    server: str
    timeout: float
    assistant_peer: str
    assistant_observed: bool = False

    @property
    def lease(self) -> float:
        """Seconds after which a request, however lost, has been carried out or never will be."""
        return 2 * self.timeout + 5


class Arrivals:
    """How many messages arrived in Honcho, and when the last one did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._latest: float | None = None

    @property
    def count(self) -> int:
        """Since the process started."""
        return self._count

    @property
    def latest(self) -> float | None:
        """In seconds since the epoch; None before the first."""
        return self._latest

    def note(self, count: int, now: float) -> None:
        """So many messages arrived."""
        with self._lock:
            self._count += count
            self._latest = now


class Clearings:
    """When memories were last cleared as Honcho has it, by this machine or another."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[float, float]] = {}

    def latest(
        self, memory: tuple[str, str], now: float, ask: Callable[[], Mapping[str, object]] | None
    ) -> float:
        """When a memory was last cleared, in seconds since the epoch; 0 for never.

        Args:
            memory: Its workspace and its peer.
            now: A monotonic clock's.
            ask: Gets the peer's metadata, unless Honcho was asked a moment ago; None never asks.
        """
        asked_at, cleared_at = self._known.get(memory, (-math.inf, 0.0))
        if ask is not None and not 0 <= now - asked_at < CLEARINGS_FRESH:
            cleared_at = Ledger.of(ask()).cleared_at
            if len(self._known) >= _MOST_MEMORIES:
                self._known.clear()
            self._known[memory] = now, cleared_at
        return cleared_at


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a courier and its trips work with."""

    rules: CourierRules
    honcho: Honcho
    outbox: Outbox
    requests: Requests
    clock: Clock
    arrivals: Arrivals = field(default_factory=Arrivals)
    clearings: Clearings = field(default_factory=Clearings)

    @property
    def marks(self) -> ClearMarks:
        """What was cleared, so that it is not delivered."""
        return ClearMarks(self.outbox, self.rules.server, self.clock)


def about_delivery(lane: Lane, count: int) -> dict[str, object]:
    """What a line of the log about so many messages of a session carries beside its text."""
    workspace = workspace_hash(lane.workspace)
    return {"operation": "deliver", "count": count, "workspace_hash": workspace}
