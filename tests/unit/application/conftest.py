"""A Honcho in memory, a clock that stands still, and the ways to them."""

from __future__ import annotations

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import ServerState


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test holds."""
    return ManualClock()


@pytest.fixture
def honcho(clock: ManualClock) -> InMemoryHoncho:
    """A Honcho under that clock."""
    return InMemoryHoncho(clock=clock)


@pytest.fixture
def state(clock: ManualClock) -> ServerState:
    """A server state whose pauses are as long as they can be."""
    return ServerState(clock, jitter=lambda: 1.0)


@pytest.fixture
def requests(state: ServerState, clock: ManualClock) -> Requests:
    """The way to Honcho."""
    return Requests(state, clock, limit=8)
