"""The memory that a host drives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from honcho_memory import HonchoMemory, Settings, open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox
from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.application import writer
from honcho_memory.application.server_state import Condition
from honcho_memory.bootstrap import OUTBOX_FILE
from honcho_memory.domain.errors import HonchoMemoryError, HonchoUnavailable, OutboxUnavailable
from honcho_memory.domain.results import Outcome
from honcho_memory.ports.outbox import Lane, Tally

THREAD = [
    {"role": "user", "id": "q1", "content": "I eat no meat"},
    {"role": "assistant", "id": "a1", "content": "noted"},
]
SERVER = "http://localhost:8000"
IDENTITIES = Settings().identities()
WHO = IDENTITIES.user("ada")
assert WHO is not None
WORKSPACE, SESSION = WHO.workspace, IDENTITIES.session("t")
DOWN = HonchoUnavailable("Honcho is down", status=503)
PATIENCE = 60.0

Open = Callable[..., HonchoMemory]


@pytest.fixture
def honcho() -> InMemoryHoncho:
    """A Honcho under the clock of the machine, as the memory's threads are."""
    return InMemoryHoncho()


@pytest.fixture
def open_at(honcho: InMemoryHoncho) -> Iterator[Open]:
    """Opens memories on that Honcho, and closes them."""
    opened: list[HonchoMemory] = []

    def open_one(own_outbox: InMemoryOutbox | None = None, **settings: Any) -> HonchoMemory:
        opened.append(open_memory(settings, honcho=honcho, outbox=own_outbox))
        return opened[-1]

    yield open_one
    honcho.faults.clear()
    for memory in opened:
        memory.close()


def stored(honcho: InMemoryHoncho) -> list[str]:
    """What Honcho holds of the thread."""
    return [message.content for message in honcho.messages(WORKSPACE, SESSION)]


def test_what_was_said_is_stored_recalled_and_found(honcho: InMemoryHoncho) -> None:
    """The main job: leaving the memory delivers what waits."""
    with open_memory(honcho=honcho) as memory:
        assert 2 == memory.remember("t", THREAD, user_id="ada")

    assert ["I eat no meat", "noted"] == stored(honcho)
    with open_memory(honcho=honcho) as memory:
        assert "I eat no meat" in str(memory.recall("ada"))
        found = memory.search("meat", user_id="ada", top_k=1)
        assert ([True], 1) == (["meat" in hit.content for hit in found], len(found))


def test_many_threads_hand_over_at_once(open_at: Open, honcho: InMemoryHoncho) -> None:
    """One memory serves a whole host; each message is stored once."""
    memory = open_at()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(40):
            pool.submit(memory.remember, "t", THREAD, user_id="ada")

    assert memory.flush(PATIENCE)
    assert ["I eat no meat", "noted"] == stored(honcho)


@pytest.mark.parametrize("nobody", [None, ""])
def test_nobody_has_no_memory(open_at: Open, honcho: InMemoryHoncho, nobody: str | None) -> None:
    """Nothing is written and nothing is known without a user; that is no failure."""
    memory = open_at(failure_policy={"read": "fail_closed"})

    assert 0 == memory.remember("t", THREAD, user_id=nobody)
    assert (Outcome.NOBODY, None) == (memory.recall(nobody).outcome, memory.recall(nobody).error)
    assert (0, None) == (len(memory.search("x", user_id=nobody)), memory.recall(nobody).error)
    assert [] == honcho.requests


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ((7, THREAD, "ada"), "a thread id is a string, not int"),
        (("t", THREAD, 7), "a user id is a string, not int"),
        (("t", None, "ada"), "TypeError"),
    ],
)
def test_a_bad_hand_over_is_named_and_does_not_fail_the_host(
    open_at: Open, caplog: pytest.LogCaptureFixture, given: tuple[Any, Any, Any], reason: str
) -> None:
    """Whatever a host hands over, its run goes on, and the log says what was wrong."""
    memory = open_at()
    thread_id, messages, user_id = given

    assert 0 == memory.remember(thread_id, messages, user_id=user_id)
    assert 1 == memory.stats().refused
    assert [f"a hand-over could not be taken into memory: {reason}"] == caplog.messages


def test_a_hand_over_without_waiting_is_written_in_order(
    open_at: Open, honcho: InMemoryHoncho
) -> None:
    """What comes from an event loop is taken before what comes after it."""
    memory = open_at()

    memory.remember_nowait("t", THREAD, user_id="ada", trace_id="x")
    memory.remember("t", [*THREAD, {"role": "user", "id": "q2", "content": "more"}], user_id="ada")

    assert memory.flush(PATIENCE)
    assert ["I eat no meat", "noted", "more"] == stored(honcho)


def test_the_host_may_change_its_list_meanwhile(open_at: Open, honcho: InMemoryHoncho) -> None:
    """A summarization empties the list that it has just handed over."""
    memory, messages = open_at(), list(THREAD)

    memory.remember_nowait("t", messages, user_id="ada")
    messages.clear()

    assert memory.flush(PATIENCE)
    assert ["I eat no meat", "noted"] == stored(honcho)


def test_hand_overs_that_cannot_wait_any_more_are_refused(
    open_at: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting there is no room without end; what has none is counted."""
    monkeypatch.setattr(writer, "MOST_JOBS", 1)
    memory = open_at()
    release = threading.Event()
    memory._writer.submit(release.wait)
    for _ in range(3):
        memory.remember_nowait("t", THREAD, user_id="ada")
    memory.remember_nowait("t", None, user_id="ada")  # type: ignore[arg-type]
    release.set()

    assert memory.stats().refused >= 2


def test_down_is_not_empty(open_at: Open, honcho: InMemoryHoncho) -> None:
    """Under `fail_open` the result tells that Honcho could not be asked."""
    memory = open_at()
    honcho.faults.fail(DOWN, times=None)

    recalled, found = memory.recall("ada"), memory.search("meat", user_id="ada")

    assert ("", Outcome.FAILED, 0) == (recalled.text, recalled.outcome, len(found))
    assert isinstance(recalled.error, HonchoUnavailable)
    assert isinstance(found.error, HonchoUnavailable)
    assert Condition.DOWN is memory.stats().server


def test_fail_closed_raises(open_at: Open, honcho: InMemoryHoncho) -> None:
    """A host that would rather stop than go on without memory can."""
    memory = open_at(failure_policy={"read": "fail_closed"})
    honcho.faults.fail(DOWN, times=None)

    with pytest.raises(HonchoMemoryError):
        memory.recall("ada")
    with pytest.raises(HonchoMemoryError):
        memory.search("meat", user_id="ada")


def test_a_server_that_is_down_loses_nothing(open_at: Open, honcho: InMemoryHoncho) -> None:
    """What was said waits, and the figures say so."""
    memory = open_at()
    honcho.faults.fail(DOWN, times=None)
    memory.remember("t", THREAD, user_id="ada")

    assert not memory.flush(0.05)
    stats = memory.stats()
    assert (2, 0, 0, Tally(waiting=2)) == (
        stats.accepted,
        stats.refused,
        stats.delivered,
        stats.tally,
    )
    assert stats.last_success is None
    assert stats.last_failure is not None


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), float("-inf")])
def test_waiting_for_nonsense_is_not_waiting(
    open_at: Open, honcho: InMemoryHoncho, timeout: float
) -> None:
    """A host whose arithmetic went wrong is told the truth at once."""
    memory = open_at()
    honcho.faults.fail(DOWN, times=None)
    memory.remember("t", THREAD, user_id="ada")

    assert not memory.flush(timeout)


def test_waiting_for_ever_ends_with_delivery(open_at: Open) -> None:
    """No limit is a limit like any other."""
    memory = open_at()
    memory.remember("t", THREAD, user_id="ada")

    assert memory.flush(float("inf"))


def test_what_is_not_written_yet_is_not_delivered(open_at: Open) -> None:
    """A hand-over that nobody had to wait for counts while it is under way."""
    memory, release = open_at(), threading.Event()
    memory._writer.submit(release.wait)
    memory.remember_nowait("t", THREAD, user_id="ada")

    assert not memory.flush(0.05)
    release.set()
    assert memory.flush(PATIENCE)


def test_any_iterable_can_be_handed_over(open_at: Open) -> None:
    """A generator of messages is as good as a list."""
    memory = open_at()

    assert 2 == memory.remember("t", (raw for raw in THREAD), user_id="ada")  # type: ignore[arg-type]


def test_the_figures_of_a_good_day(open_at: Open) -> None:
    """Accepted, delivered, nothing waiting, nothing failed."""
    memory = open_at()
    memory.remember("t", THREAD, user_id="ada")
    assert memory.flush(PATIENCE)

    stats = memory.stats()

    assert (2, 2, Tally(), Condition.OK, None) == (
        stats.accepted,
        stats.delivered,
        stats.tally,
        stats.server,
        stats.last_failure,
    )
    assert stats.last_success is not None


def test_a_full_outbox_refuses_a_turn_and_takes_it_later(
    open_at: Open, honcho: InMemoryHoncho, caplog: pytest.LogCaptureFixture
) -> None:
    """At the limit the newest turn is refused aloud; the thread brings it along again."""
    memory = open_at(outbox={"max_messages": 2})
    outage = honcho.faults.hold(times=None)
    memory.remember("t", THREAD, user_id="ada")
    longer = [*THREAD, {"role": "user", "id": "q2", "content": "more"}]

    assert 0 == memory.remember("t", longer, user_id="ada")
    assert 1 == memory.stats().refused
    assert "full" in caplog.text

    outage.release()
    assert memory.flush(PATIENCE)
    assert 1 == memory.remember("t", longer, user_id="ada")
    assert memory.flush(PATIENCE)
    assert ["I eat no meat", "noted", "more"] == stored(honcho)


def test_inline_waits_for_delivery(open_at: Open, honcho: InMemoryHoncho) -> None:
    """When `remember` returns, Honcho has it."""
    memory = open_at(delivery="inline")

    memory.remember("t", THREAD, user_id="ada")

    assert ["I eat no meat", "noted"] == stored(honcho)


def test_inline_drops_what_does_not_arrive_in_time(
    open_at: Open, honcho: InMemoryHoncho, caplog: pytest.LogCaptureFixture
) -> None:
    """At most once: what fails is said aloud, dropped, and not sent later."""
    memory = open_at(delivery="inline", timeout_seconds=0.05)
    honcho.faults.fail(DOWN, times=None)

    assert 2 == memory.remember("t", THREAD, user_id="ada")

    assert Tally() == memory.stats().tally
    assert "2 messages could not be delivered in time and are dropped" in caplog.messages


def test_inline_does_not_call_dropped_what_arrived_at_the_last_moment(
    open_at: Open, honcho: InMemoryHoncho, caplog: pytest.LogCaptureFixture
) -> None:
    """Between the end of waiting and the dropping it may still get there."""
    outbox = InMemoryOutbox()
    drop = outbox.drop
    memory = open_at(own_outbox=outbox, delivery="inline", timeout_seconds=0.05)
    held = honcho.faults.hold(operation="add_messages")

    def drop_late(lane: Lane, keys: Collection[str], *, now: float) -> int:
        held.release()
        assert memory.flush(PATIENCE)
        return drop(lane, keys, now=now)

    outbox.drop = drop_late  # type: ignore[method-assign]
    memory.remember("t", THREAD, user_id="ada")

    assert ["I eat no meat", "noted"] == stored(honcho)
    assert "dropped" not in caplog.text


def test_closing_is_safe_at_any_time(open_at: Open, honcho: InMemoryHoncho) -> None:
    """It can be done twice, and calls after it do no harm."""
    memory = open_at()
    memory.close()
    memory.close()

    assert 0 == memory.remember("t", THREAD, user_id="ada")
    assert 1 == memory.stats().refused
    assert memory.stats().tally is None
    assert not memory.flush(0)


@pytest.mark.parametrize("is_durable", [True, False])
def test_closing_says_what_becomes_of_what_waits(
    open_at: Open,
    honcho: InMemoryHoncho,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    is_durable: bool,
) -> None:
    """A stop during an outage tells the operator whether something is lost."""
    memory = open_at(storage_path=str(tmp_path) if is_durable else "")
    honcho.faults.fail(DOWN, times=None)
    memory.remember("t", THREAD, user_id="ada")
    memory.flush(0.05)

    memory.close()

    expected = "wait on disk" if is_durable else "are lost with this process"
    assert f"2 messages {expected}" in caplog.messages[-1]


def test_closing_with_an_outbox_that_is_closed_already_is_fine(open_at: Open) -> None:
    """Whoever closed it knows what was in it."""
    outbox = InMemoryOutbox()
    memory = open_at(own_outbox=outbox)
    outbox.close()

    memory.close()


def test_what_arrives_after_closing_is_kept_on_disk(
    open_at: Open, honcho: InMemoryHoncho, tmp_path: Path
) -> None:
    """The last turn of a host that stops is delivered at its next start."""
    memory = open_at(storage_path=str(tmp_path))
    memory.close()

    assert 2 == memory.remember("t", THREAD, user_id="ada")
    assert [] == stored(honcho)

    again = open_at(storage_path=str(tmp_path))
    assert again.flush(PATIENCE)
    assert ["I eat no meat", "noted"] == stored(honcho)


def test_a_storage_that_cannot_be_used_does_not_keep_a_host_from_starting(
    open_at: Open, honcho: InMemoryHoncho, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says what to do, the file stays as it is, and memory goes on without it."""
    path = tmp_path / OUTBOX_FILE
    path.parent.mkdir()
    path.write_bytes(b"no database" * 100)

    memory = open_at(storage_path=str(tmp_path))
    memory.remember("t", THREAD, user_id="ada")

    assert memory.flush(PATIENCE)
    assert ["I eat no meat", "noted"] == stored(honcho)
    assert ["ERROR"] == [record.levelname for record in caplog.records]
    assert b"no database" * 100 == path.read_bytes()


def test_a_storage_that_fails_later_refuses_a_turn(
    open_at: Open, honcho: InMemoryHoncho, tmp_path: Path
) -> None:
    """A failure of the disk is counted, and is no failure of the host's."""
    memory = open_at(storage_path=str(tmp_path))
    memory._parts.outbox.close()

    assert 0 == memory.remember("t", THREAD, user_id="ada")
    assert 1 == memory.stats().refused


def test_an_outbox_of_ones_own_is_used_and_left_open(
    open_at: Open, tmp_path: Path, honcho: InMemoryHoncho
) -> None:
    """What the memory did not open it does not close."""
    outbox = InMemoryOutbox()
    memory = open_at(own_outbox=outbox)
    memory.remember("t", THREAD, user_id="ada")
    assert memory.flush(PATIENCE)
    memory.close()

    assert Tally() == outbox.tally(SERVER)


def test_a_honcho_of_ones_own_is_left_open(honcho: InMemoryHoncho) -> None:
    """It stays the caller's, to look at or to use again."""
    open_memory(honcho=honcho).close()

    assert "" == honcho.representation("ws", "p", max_conclusions=1, timeout=1)


def test_the_log_holds_no_words_of_users(
    open_at: Open, honcho: InMemoryHoncho, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither success nor failure writes down what was said or who said it."""
    with caplog.at_level(logging.INFO, logger="honcho_memory"):
        memory = open_at(outbox={"max_messages": 2})
        memory.remember("t", THREAD, user_id="ada")
        memory.flush(PATIENCE)
        honcho.faults.fail(DOWN, times=None)
        memory.remember("other", THREAD, user_id="ada")
        memory.recall("ada")
        memory.flush(0.05)

    assert "meat" not in caplog.text
    assert "ada" not in caplog.text


def test_the_durable_outbox_is_the_default_with_a_storage_path(
    open_at: Open, tmp_path: Path
) -> None:
    """One file under the host's folder."""
    memory = open_at(storage_path=str(tmp_path))

    assert isinstance(memory._parts.outbox, SqliteOutbox)
    assert (tmp_path / OUTBOX_FILE).is_file()


def test_a_closed_outbox_says_so() -> None:
    """The outbox of a closed memory cannot be used any more."""
    memory = open_memory(honcho=InMemoryHoncho())
    memory.close()

    with pytest.raises(OutboxUnavailable):
        memory._parts.outbox.tally(SERVER)
