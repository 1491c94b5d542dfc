"""DeerFlow's manager, where no server is needed."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
from deerflow.agents.memory.manager import MemoryManagerError

from honcho_memory.adapters.deerflow import HonchoMemoryManager
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock

NOW = "2026-12-01T00:00:00Z"


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that gives no more threads."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


def test_it_can_be_tried_without_a_server() -> None:
    """A Honcho kept in memory takes the place of the one at `base_url`."""
    clock = ManualClock()
    manager = HonchoMemoryManager(honcho=InMemoryHoncho(clock=clock), clock=clock)

    manager.add("t", [{"role": "user", "id": "1", "content": "I cycle."}], user_id="ada")
    assert manager.shutdown_flush(30.0)

    assert "I cycle." in manager.get_context("ada")
    document = manager.get_memory(user_id="ada")
    assert datetime.fromtimestamp(clock.time(), UTC) == datetime.fromisoformat(NOW)
    assert NOW == document["lastUpdated"]
    manager.close()


@pytest.mark.usefixtures("no_threads")
async def test_a_system_without_threads_does_not_fail_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The turn is not remembered, which is said, and comes again with the thread."""
    manager = HonchoMemoryManager(honcho=InMemoryHoncho())

    await manager.aadd("t", [], user_id="ada")
    manager.add_nowait("t", [], user_id="ada")

    assert 2 == len(caplog.records)


@pytest.mark.usefixtures("no_threads")
async def test_a_system_without_threads_is_a_failure_to_read() -> None:
    """The read policy holds for it as for any other."""
    manager = HonchoMemoryManager(honcho=InMemoryHoncho())
    strict = HonchoMemoryManager(
        backend_config={"failure_policy": {"read": "fail_closed"}}, honcho=InMemoryHoncho()
    )

    assert "" == await manager.aget_context("ada")
    assert [] == await manager.asearch("cycle", user_id="ada")
    with pytest.raises(MemoryManagerError, match="NoThread"):
        await strict.aget_context("ada")
