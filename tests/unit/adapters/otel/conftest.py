"""An OpenTelemetry that keeps what it is told, and memories that tell it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Metric
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from honcho_memory import HonchoMemory, Settings
from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.adapters.otel import Telemetry
from honcho_memory.bootstrap import Container, build, memory_of
from honcho_memory.bootstrap import _replace as replace
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.outbox import Outbox

Open = Callable[..., HonchoMemory]


class Observed:
    """What was reported.

    Attributes:
        telemetry: Reports it.
    """

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._meters = MeterProvider([self._metrics])
        self.telemetry = Telemetry(tracers, self._meters)

    def spans(self, name: str) -> Sequence[ReadableSpan]:
        """The spans of this name that have ended, oldest first."""
        return [span for span in self._spans.get_finished_spans() if span.name == name]

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """The data points of a metric: attributes, and a value or a histogram's point."""
        return [
            (dict(point.attributes or {}), getattr(point, "value", point))
            for metric in self._collected()
            if metric.name == name
            for point in metric.data.data_points
        ]

    def value(self, name: str) -> Any:
        """The value of a metric without attributes; None when there is none."""
        ((attributes, value),) = self.points(name) or [({}, None)]
        assert {} == attributes
        return value

    def units(self) -> dict[str, str | None]:
        """The units of the metrics by their names."""
        return {metric.name: metric.unit for metric in self._collected()}

    def everything(self) -> str:
        """All that leaves the process, as text."""
        spans = [span.to_json() for span in self._spans.get_finished_spans()]
        data = self._metrics.get_metrics_data()
        return "".join([*spans, data.to_json() if data else ""]).lower()

    def container(
        self, honcho: Honcho, own_outbox: Outbox | None = None, **settings: Any
    ) -> Container:
        """The parts of a memory that reports here."""
        given = Settings.from_mapping({"telemetry": True, **settings})
        container = build(given, honcho=honcho, outbox=own_outbox)
        replace(container.telemetry, self.telemetry)
        return container

    def close(self) -> None:
        """Stop the meters."""
        self._meters.shutdown()

    def _collected(self) -> list[Metric]:
        data = self._metrics.get_metrics_data()
        if data is None:
            return []
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return [metric for scope in scopes for metric in scope.metrics]


@pytest.fixture
def observed() -> Iterator[Observed]:
    """What is reported in a test."""
    seen = Observed()
    yield seen
    seen.close()


@pytest.fixture
def honcho() -> InMemoryHoncho:
    """A Honcho under the clock of the machine, as the memory's threads are."""
    return InMemoryHoncho()


@pytest.fixture
def open_at(observed: Observed, honcho: InMemoryHoncho) -> Iterator[Open]:
    """Opens memories on that Honcho which are observed, and closes them."""
    opened: list[HonchoMemory] = []

    def open_one(own_outbox: Outbox | None = None, **settings: Any) -> HonchoMemory:
        opened.append(memory_of(observed.container(honcho, own_outbox, **settings)))
        return opened[-1]

    yield open_one
    honcho.faults.clear()
    while opened:
        opened.pop().close()
