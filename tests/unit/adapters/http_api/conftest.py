"""A host's application with the router in it, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from http_host import app_with, client_of, current_user

from honcho_memory import HonchoMemory, open_memory
from honcho_memory.adapters.http_api import memory_router
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test holds."""
    return ManualClock()


@pytest.fixture
def honcho(clock: ManualClock) -> InMemoryHoncho:
    """A Honcho under that clock."""
    return InMemoryHoncho(clock=clock)


@pytest.fixture
def memory(honcho: InMemoryHoncho, clock: ManualClock) -> Iterator[HonchoMemory]:
    """A memory on that Honcho, to whom `guest` is nobody."""
    settings = {"anonymous_user_ids": ["guest"]}
    with open_memory(settings, honcho=honcho, clock=clock) as memory:
        yield memory


@pytest.fixture
async def client(memory: HonchoMemory, clock: ManualClock) -> AsyncIterator[httpx.AsyncClient]:
    """Ada, who asks a host that serves the memory."""
    router = memory_router(memory, user_id=current_user, clock=clock)
    async with client_of(app_with(router)) as client:
        yield client
