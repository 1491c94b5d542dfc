"""The way to OpenTelemetry, which every memory of a process shares."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from honcho_memory.adapters.otel.honcho import ObservedHoncho
from honcho_memory.adapters.otel.memory import ObservedMemory
from honcho_memory.adapters.otel.signals import Signals
from honcho_memory.application.memory import HonchoMemory, Parts
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import Honcho


class Telemetry:
    """Puts what observes around what is observed.

    Args:
        tracer_provider: Where spans go; None for the host's, whenever it sets it up.
        meter_provider: Where metrics go; None for the host's.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self._signals = Signals(tracer_provider, meter_provider)

    def honcho(self, honcho: Honcho, clock: Clock) -> Honcho:
        """The same Honcho, with every request timed and traced."""
        return ObservedHoncho(honcho, self._signals, clock)

    def memory(self, parts: Parts, place: Hashable) -> HonchoMemory:
        """A memory whose recalls and searches are traced, and whose messages are counted.

        Args:
            parts: What it is made of.
            place: Where its messages wait; memories that share one are not counted twice.
        """
        return ObservedMemory(parts, self._signals, place)


@cache
def process_telemetry() -> Telemetry:
    """The one of the process: OpenTelemetry keeps an instrument, and what it calls, for good."""
    return Telemetry()
