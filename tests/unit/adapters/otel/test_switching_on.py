"""OpenTelemetry is there for those who ask for it, and for nobody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from honcho_memory import ConfigurationError, open_memory
from honcho_memory.adapters.deerflow import HonchoMemoryManager
from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.adapters.otel.memory import ObservedMemory

WITHOUT = """
import sys

sys.modules["fastapi"] = None  # dependency-injector looks for it, and it may bring OpenTelemetry

from honcho_memory import open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho

with open_memory(honcho=InMemoryHoncho()) as memory:
    memory.recall("ada")
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""

WITH = """
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from honcho_memory import open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho

memory = open_memory({"telemetry": "true"}, honcho=InMemoryHoncho())
spans, metered = InMemorySpanExporter(), InMemoryMetricReader()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracers)
metrics.set_meter_provider(MeterProvider([metered]))
with memory:
    memory.recall("ada")
print(sorted(span.name for span in spans.get_finished_spans()))
data = metered.get_metrics_data()
print([scope.scope.name for each in data.resource_metrics for scope in each.scope_metrics])
"""


def output_of(script: str) -> list[str]:
    """What a process of its own prints."""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


def test_nothing_of_it_is_imported_by_default() -> None:
    """Neither by the package nor by a memory at work."""
    assert ["[]"] == output_of(WITHOUT)


def test_the_setting_is_all_it_takes() -> None:
    """The host's providers are used, also those that it sets up later."""
    names, scopes = output_of(WITH)

    expected = ["peer_card", "recall", "representation"]
    assert str([f"honcho_memory.{name}" for name in expected]) == names
    assert "['honcho_memory']" == scopes


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the command that helps."""
    monkeypatch.setitem(sys.modules, "honcho_memory.adapters.otel", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'honcho-memory\[otel\]'"):
        open_memory({"telemetry": True}, honcho=InMemoryHoncho())


def test_deerflow_switches_it_on_in_its_configuration() -> None:
    """Where no host has set OpenTelemetry up, that costs nothing and breaks nothing."""
    manager = HonchoMemoryManager(backend_config={"telemetry": True}, honcho=InMemoryHoncho())

    assert isinstance(manager._memory, ObservedMemory)
    assert "" == manager.get_context("ada")
    manager.close()
