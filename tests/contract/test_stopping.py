"""A memory's threads as a host sees them: sessions at once, waiting, stopping, forking."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ordeal import Child, stored_at
from threads import said, transcript

from honcho_memory import HonchoMemory, open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.application import memory as module
from honcho_memory.domain.identity import Identities

USER = "ada"
WHO = Identities().user(USER)
assert WHO is not None
WORKSPACE = WHO.workspace
PATIENCE = 60.0

Open = Callable[..., HonchoMemory]


@pytest.fixture
def honcho() -> InMemoryHoncho:
    """A Honcho under the clock of the machine, as the memory's threads are."""
    return InMemoryHoncho()


@pytest.fixture
def open_at(
    honcho: InMemoryHoncho, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    """Opens memories on that Honcho and one storage, and closes them."""
    monkeypatch.setattr(module, "CLOSE_TIMEOUT", 0.1)
    opened: list[HonchoMemory] = []

    def open_one(**settings: Any) -> HonchoMemory:
        opened.append(open_memory({"storage_path": str(tmp_path), **settings}, honcho=honcho))
        return opened[-1]

    yield open_one
    honcho.faults.clear()
    for memory in opened:
        memory.close()


def stored(honcho: InMemoryHoncho, thread: str) -> list[str]:
    """What Honcho holds of a thread."""
    messages = honcho.messages(WORKSPACE, Identities().session(thread))
    return [message.content for message in messages]


def test_two_sessions_are_delivered_at_once(open_at: Open, honcho: InMemoryHoncho) -> None:
    """A session that takes its time does not hold up another."""
    memory = open_at()
    slow = honcho.faults.hold(operation="add_messages", times=2)

    for thread in ("one", "two"):
        memory.remember(thread, transcript(thread, 1), user_id=USER)
    slow.wait_until_hit(2)
    slow.release()

    assert memory.flush(PATIENCE)
    assert [said(1), said(1)] == [stored(honcho, thread) for thread in ("one", "two")]


def test_a_session_is_delivered_by_one_thread_at_a_time(
    open_at: Open, honcho: InMemoryHoncho
) -> None:
    """What is said while a session is being delivered comes after what is on its way."""
    memory = open_at()
    memory.remember("thread", transcript("thread", 1), user_id=USER)
    slow = honcho.faults.hold(operation="add_messages")
    memory.remember("thread", transcript("thread", 2), user_id=USER)
    slow.wait_until_hit()
    for turns in range(3, 30):
        memory.remember("thread", transcript("thread", turns), user_id=USER)
    other = transcript("other", 1)
    memory.remember("other", other, user_id=USER)

    slow.release()

    assert memory.flush(PATIENCE)
    assert said(29) == stored(honcho, "thread")
    assert said(1) == stored(honcho, "other")


def test_waiting_for_a_server_that_hangs_ends(open_at: Open, honcho: InMemoryHoncho) -> None:
    """Who waits hears the truth in time, and closing is not held up either."""
    memory = open_at()
    hanging = honcho.faults.hang(times=None)
    memory.remember("thread", transcript("thread", 1), user_id=USER)
    hanging.wait_until_hit()

    assert not memory.flush(0.05)
    memory.close()
    memory.close()
    hanging.stop()
    hanging.release()


def test_what_arrives_while_it_closes_is_kept(open_at: Open, honcho: InMemoryHoncho) -> None:
    """Every turn that was taken is delivered, by this process or by the next."""
    memory = open_at()
    taken: list[str] = []
    turns_taken = threading.Semaphore(0)

    def talk(name: str) -> None:
        for number in range(60):
            thread = f"{name}-{number}"
            if memory.remember(thread, transcript(thread, 1), user_id=USER):
                taken.append(thread)
            turns_taken.release()

    talkers = [threading.Thread(target=talk, args=(name,)) for name in "abc"]
    for talker in talkers:
        talker.start()
    for _ in range(30):
        turns_taken.acquire()
    memory.close()
    for talker in talkers:
        talker.join()

    assert 180 == len(taken)
    assert open_at().flush(PATIENCE)
    assert all(said(1) == stored(honcho, thread) for thread in taken)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_shares_neither_threads_nor_claims_nor_connections(tmp_path: Path) -> None:
    """Parent and child talk on at once, each by itself, and no answer gets lost or mixed up."""
    server = Child("honcho_memory.testing.strict_honcho")
    settings = {"base_url": server.hear(), "storage_path": str(tmp_path)}
    with open_memory(settings) as memory:
        assert talks_well(memory, "before")

        child = os.fork()
        if not child:
            os._exit(0 if talks_well(memory, "child") else 1)
        assert talks_well(memory, "parent")
        _, status = os.waitpid(child, 0)

    assert 0 == os.waitstatus_to_exitcode(status)
    for thread in ("before", "child", "parent"):
        assert said(20) == stored_at(settings["base_url"], thread, USER)
    server.end(signal.SIGKILL)


def talks_well(memory: HonchoMemory, thread: str) -> bool:
    """Take twenty turns; whether each was delivered without a failure."""
    for turns in range(1, 21):
        memory.remember(thread, transcript(thread, turns), user_id=USER)
        if not memory.flush(PATIENCE):
            return False
    return memory.stats().last_failure is None
