"""The names, units and attributes of all that is reported.

None of it is a message, a key, or an id that somebody could be known by.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from opentelemetry.metrics import (
    CallbackOptions,
    Meter,
    MeterProvider,
    Observation,
    get_meter,
)
from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider, get_tracer

from honcho_memory.adapters.otel.totals import Counts, Totals
from honcho_memory.domain.errors import HonchoRequestError
from honcho_memory.domain.identity import workspace_hash
from honcho_memory.ports.outbox import Tally

SCOPE = "honcho_memory"
ERROR = "error.type"
HITS = f"{SCOPE}.search.hits"
OPERATION = f"{SCOPE}.operation"
OUTCOME = f"{SCOPE}.outcome"
STATUS = "http.response.status_code"
WORKSPACE = f"{SCOPE}.workspace.hash"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""What OpenTelemetry advises for requests; what it does by itself is meant for milliseconds."""


class Signals:
    """The instruments, each made once.

    Args:
        tracer_provider: Where spans go; None for the host's.
        meter_provider: Where metrics go; None for the host's.

    Attributes:
        totals: What the observable instruments read.
        duration: Of requests to Honcho.
        recalls: By outcome.
    """

    def __init__(
        self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None
    ) -> None:
        self._tracer = get_tracer(SCOPE, tracer_provider=tracer_provider)
        meter = get_meter(SCOPE, meter_provider=meter_provider)
        self.totals = Totals()
        self.duration = meter.create_histogram(
            f"{SCOPE}.request.duration",
            unit="s",
            description="How long requests to Honcho take.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self.recalls = meter.create_counter(
            f"{SCOPE}.recalls", unit="{recall}", description="Recalls, by how they came about."
        )
        _count(meter, self.totals)
        _tally(meter, self.totals)

    @contextmanager
    def span(
        self, name: str, workspace: str | None, kind: SpanKind = SpanKind.INTERNAL
    ) -> Generator[Span]:
        """A span; an error that passes through is told by its kind, as its text may hold ids."""
        with self._tracer.start_as_current_span(
            f"{SCOPE}.{name}",
            kind=kind,
            attributes={} if workspace is None else {WORKSPACE: workspace_hash(workspace)},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except Exception as error:
                mark_failed(span, error)
                raise


def mark_failed(span: Span, error: Exception) -> None:
    """Say of a span that it ended in an error."""
    span.set_status(StatusCode.ERROR)
    span.set_attribute(ERROR, type(error).__name__)
    if isinstance(error, HonchoRequestError) and error.status is not None:
        span.set_attribute(STATUS, error.status)


def _count(meter: Meter, totals: Totals) -> None:
    def count(name: str, unit: str, description: str, read: Callable[[Counts], int]) -> None:
        def observe(_: CallbackOptions) -> list[Observation]:
            return [Observation(read(totals.counts()))]

        meter.create_observable_counter(f"{SCOPE}.{name}", [observe], unit, description)

    count(
        "messages.accepted",
        "{message}",
        "Messages taken into the outbox.",
        lambda counts: counts.accepted,
    )
    count(
        "messages.delivered",
        "{message}",
        "Messages that arrived in Honcho.",
        lambda counts: counts.delivered,
    )
    count(
        "hand_overs.refused",
        "{hand_over}",
        "Hand-overs that could not be taken; they are when they come again.",
        lambda counts: counts.refused,
    )


def _tally(meter: Meter, totals: Totals) -> None:
    def gauge(name: str, description: str, read: Callable[[Tally], int]) -> None:
        def observe(_: CallbackOptions) -> list[Observation]:
            tallies = totals.tallies()
            return [Observation(sum(map(read, tallies)))] if tallies else []

        name = f"{SCOPE}.messages.{name}"
        meter.create_observable_gauge(name, [observe], "{message}", description)

    gauge("waiting", "Messages in the outbox, to be delivered.", lambda tally: tally.waiting)
    gauge(
        "set_aside",
        "Messages that Honcho refused, waiting for somebody's decision.",
        lambda tally: tally.set_aside,
    )
