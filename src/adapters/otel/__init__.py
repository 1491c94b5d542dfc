"""What a memory does as spans and metrics of OpenTelemetry, for the extra `[otel]`."""

from __future__ import annotations

from honcho_memory.adapters.otel.telemetry import Telemetry, process_telemetry

__all__ = ["Telemetry", "process_telemetry"]
