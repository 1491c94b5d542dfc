"""Every request to Honcho is seen."""

from __future__ import annotations

import inspect

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.domain.errors import (
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoUnauthorized,
    HonchoUnavailable,
)
from honcho_memory.domain.identity import workspace_hash
from honcho_memory.ports.honcho import Honcho

from .conftest import Observed

DURATION = "honcho_memory.request.duration"
OPERATIONS = sorted(
    name
    for name, _ in inspect.getmembers(Honcho, inspect.isfunction)
    if not name.startswith("_") and name != "close"
)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test holds."""
    return ManualClock()


@pytest.fixture
def honcho(clock: ManualClock) -> InMemoryHoncho:
    """A Honcho under that clock."""
    return InMemoryHoncho(clock=clock)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_request_has_a_span_and_a_duration(
    observed: Observed, honcho: InMemoryHoncho, clock: ManualClock, operation: str
) -> None:
    """Whatever is asked for, also by methods that the port may come to have."""
    honcho.faults.fail(HonchoUnavailable("down", status=503))
    method = getattr(observed.telemetry.honcho(honcho, clock), operation)
    fitting: dict[str, object] = {"timeout": 1.0, "metadata": {}}
    arguments = {name: fitting.get(name, "x") for name in inspect.signature(method).parameters}

    with pytest.raises(HonchoUnavailable):
        method(**arguments)

    (span,) = observed.spans(f"honcho_memory.{operation}")
    assert (SpanKind.CLIENT, StatusCode.ERROR) == (span.kind, span.status.status_code)
    ((attributes, _),) = observed.points(DURATION)
    assert {
        "honcho_memory.operation": operation,
        "honcho_memory.outcome": "unavailable",
    } == attributes


def test_what_a_request_says(
    observed: Observed, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """How long it took by the clock, and in which workspace, without its name."""
    honcho.faults.slow_down(0.2, clock)

    observed.telemetry.honcho(honcho, clock).peer_card("deerflow-u-ada", "ada", timeout=1)

    (span,) = observed.spans("honcho_memory.peer_card")
    assert {"honcho_memory.workspace.hash": workspace_hash("deerflow-u-ada")} == span.attributes
    assert StatusCode.UNSET is span.status.status_code
    ((attributes, point),) = observed.points(DURATION)
    assert "ok" == attributes["honcho_memory.outcome"]
    assert (1, pytest.approx(0.2)) == (point.count, point.sum)
    assert "s" == observed.units()[DURATION]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (HonchoNotFound("no", status=404), "not_found"),
        (HonchoProtocolError("no"), "protocol_error"),
        (HonchoRejected("no", status=422), "rejected"),
        (HonchoUnauthorized("no", status=401), "unauthorized"),
        (RuntimeError("no"), "error"),
    ],
)
def test_how_a_request_failed(
    observed: Observed,
    honcho: InMemoryHoncho,
    clock: ManualClock,
    error: Exception,
    outcome: str,
) -> None:
    """The kind of the error and its status, never its text, which a server may have written."""
    honcho.faults.fail(error)

    with pytest.raises(type(error)):
        observed.telemetry.honcho(honcho, clock).health(timeout=1)

    (span,) = observed.spans("honcho_memory.health")
    status = getattr(error, "status", None)
    told = {"error.type": type(error).__name__}
    assert told | ({"http.response.status_code": status} if status else {}) == span.attributes
    assert (None, ()) == (span.status.description, tuple(span.events))
    ((attributes, _),) = observed.points(DURATION)
    assert outcome == attributes["honcho_memory.outcome"]
