"""Fixtures for `pytest_plugins`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from honcho_memory.testing.strict_honcho import RunningServer, running_server


@pytest.fixture
def honcho_server() -> Iterator[RunningServer]:
    """A strict Honcho v3 over a socket, for one test; `honcho_server.url` is its address."""
    with running_server() as server:
        yield server
