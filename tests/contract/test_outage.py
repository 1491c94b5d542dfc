"""What waited through an outage arrives completely and in order, at little cost."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from delivery_world import SERVER, DiskStorage, MemoryStorage, Process, Storage, World
from threads import said, transcript

from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.application.server_state import LONGEST_PAUSE
from honcho_memory.domain.errors import HonchoUnavailable
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.messages import Outgoing

DOWN = HonchoUnavailable("connection refused")
SESSIONS, TURNS = 50, 20
SECONDS_A_TURN = 3.0
BATCHES = 1
"""Of 100 messages, which are all that waits for a session."""
USER = Identities().user("ada")
assert USER is not None
WORKSPACE = USER.workspace


@pytest.fixture(params=["disk", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    """Where a machine keeps its outbox."""
    on_disk = request.param == "disk"
    storage = DiskStorage(tmp_path / "outbox.sqlite3") if on_disk else MemoryStorage()
    yield storage
    storage.close()


def test_an_outage_drains_completely_and_in_order(storage: Storage) -> None:
    """A thousand turns of fifty sessions cost two requests a session: 0.05 a message."""
    world = World()
    honcho, process = world.honcho, Process(storage, world.honcho, world.clock)
    honcho.faults.fail(DOWN, times=None)
    for turn in range(1, TURNS + 1):
        for session in range(SESSIONS):
            remember(process, f"thread-{session}", turn)
            process.deliver()
            world.advance(SECONDS_A_TURN)
    tries = len(honcho.requests)
    honcho.faults.clear()
    honcho.forget_requests()

    world.advance(LONGEST_PAUSE)
    deliver_all(process)

    for session in range(SESSIONS):
        assert said(TURNS) == stored(honcho, f"thread-{session}")
    assert 0 == process.outbox.tally(SERVER).waiting
    # The last one says that the assistant is not observed.
    assert 2 * BATCHES * SESSIONS + 2 >= len(honcho.requests)
    # One try a pause, which is half as long as it may be at worst; the first ones are shorter.
    assert TURNS * SESSIONS * SECONDS_A_TURN / (LONGEST_PAUSE / 2) + 7 >= tries


def test_a_long_backlog_of_one_session_goes_in_full_batches(storage: Storage) -> None:
    """Each batch of a hundred costs its question and its write."""
    world = World()
    honcho, process = world.honcho, Process(storage, world.honcho, world.clock)
    honcho.faults.fail(DOWN, times=None)
    for turn in range(1, 251):
        remember(process, "thread", turn)
    process.deliver()
    world.advance(LONGEST_PAUSE)
    honcho.faults.clear()
    honcho.forget_requests()

    deliver_all(process)

    assert said(250) == stored(honcho, "thread")
    writes = [each for each in honcho.requests if each.operation == "add_messages"]
    assert [100] * 5 == [write.count for write in writes]
    assert 2 * 5 + 2 >= len(honcho.requests)


class ForgetfulHoncho(InMemoryHoncho):
    """Takes messages and keeps none, so that what grows is not its own memory."""

    def add_messages(
        self, workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        """Take them."""


def test_memory_does_not_grow_with_threads(tmp_path: Path) -> None:
    """Once it is warm, hundreds of threads more cost no memory that stays."""
    if sys.gettrace() is not None:
        pytest.skip("what traces the test takes memory too")
    storage = DiskStorage(tmp_path / "outbox.sqlite3")
    clock = ManualClock()
    honcho = ForgetfulHoncho(clock=clock)
    process = Process(storage, honcho, clock)
    sizes: list[int] = []
    tracemalloc.start()
    for number in range(400):
        remember(process, f"thread-{number}", 1)
        deliver_all(process)
        honcho.forget_requests()
        if number % 200 == 199:
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    storage.close()

    assert 60_000 > sizes[1] - sizes[0]


def test_a_turn_of_a_long_thread_takes_no_more_memory_than_one_of_a_short_thread(
    storage: Storage,
) -> None:
    """Of a thread of 5,000 messages only the new ones are read."""
    clock = ManualClock()
    process = Process(storage, ForgetfulHoncho(clock=clock), clock)
    peaks: list[int] = []
    for turns in (10, 2_500):
        remember(process, f"thread-{turns}", turns)
        deliver_all(process)
        messages = transcript(f"thread-{turns}", turns + 1)
        tracemalloc.start()
        assert USER is not None
        process.remember(f"thread-{turns}", messages, USER)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert 10_000 > peaks[1] - peaks[0]


def remember(process: Process, thread: str, turns: int) -> None:
    """Hand over a thread as it is after so many turns."""
    assert USER is not None
    process.remember(thread, transcript(thread, turns), USER)


def deliver_all(process: Process) -> None:
    """Deliver all that can be delivered now."""
    while process.deliver() is not None:
        pass


def stored(honcho: InMemoryHoncho, thread: str) -> list[str]:
    """What Honcho holds of a thread."""
    messages = honcho.messages(WORKSPACE, Identities().session(thread))
    return [message.content for message in messages]
