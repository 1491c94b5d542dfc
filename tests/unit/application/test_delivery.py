"""The threads that deliver."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.application.delivery import LONGEST_SLEEP, Delivery
from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.errors import OutboxUnavailable
from honcho_memory.ports.outbox import Tally

PATIENCE = 60.0


class Script:
    """A courier that does what the test says, once for each call, and then nothing."""

    def __init__(self, *steps: Callable[[], int | None]) -> None:
        self.steps = list(steps)
        self.is_done = threading.Event()

    def __call__(self) -> int | None:
        """The next step."""
        if not self.steps:
            self.is_done.set()
            return None
        return self.steps.pop(0)()


def failing(error: BaseException) -> Callable[[], int | None]:
    """A step that fails."""

    def step() -> int | None:
        raise error

    return step


def delivery_of(
    script: Script, clock: ManualClock, outbox: InMemoryOutbox | None = None
) -> Delivery:
    """One thread that follows the script."""
    return Delivery(
        script,
        outbox or InMemoryOutbox(),
        "http://honcho",
        ServerState(clock),
        clock,
        threads=1,
    )


def test_the_threads_start_when_something_waits(clock: ManualClock) -> None:
    """An idle memory costs no thread; waking it twice starts no second one."""
    script = Script(lambda: 3, lambda: 0)
    delivery = delivery_of(script, clock)
    assert [] == delivery._threads

    delivery.wake()
    delivery.wake()

    assert script.is_done.wait(PATIENCE)
    assert 1 == len(delivery._threads)
    delivery.close(PATIENCE)


@pytest.mark.parametrize("error", [OutboxUnavailable("disk"), ZeroDivisionError(), SystemExit()])
def test_a_failure_does_not_end_delivery(
    clock: ManualClock, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    """Neither a failing disk nor a fault of ours stops the thread."""
    script = Script(failing(error))
    delivery = delivery_of(script, clock)

    delivery.wake()
    while not script.is_done.wait(0.01):
        delivery.wake()

    assert 1 == len(caplog.records)
    delivery.close(PATIENCE)


def test_idle_threads_tidy(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content of what was delivered is gone soon, without anybody asking."""
    tidied = threading.Event()
    outbox = InMemoryOutbox()

    def tidy(*, now: float) -> None:
        tidied.set()

    monkeypatch.setattr(outbox, "tidy", tidy)
    delivery = delivery_of(Script(), clock, outbox)
    clock.advance(LONGEST_SLEEP)

    delivery.wake()

    assert tidied.wait(PATIENCE)
    delivery.close(PATIENCE)


def test_a_closed_outbox_does_not_end_the_thread(clock: ManualClock) -> None:
    """What cannot be read now may be readable later."""
    outbox, script = InMemoryOutbox(), Script()
    outbox.close()
    delivery = delivery_of(script, clock, outbox)

    delivery.wake()

    assert script.is_done.wait(PATIENCE)
    delivery.close(PATIENCE)


def test_closing_leaves_a_busy_thread_behind(clock: ManualClock) -> None:
    """A request that hangs does not hang the host's stop."""
    started, release = threading.Event(), threading.Event()

    def hang() -> int | None:
        started.set()
        release.wait()
        return None

    delivery = delivery_of(Script(hang), clock)
    delivery.wake()
    assert started.wait(PATIENCE)

    delivery.close(0)
    delivery.wake()

    assert delivery.flush(0), "nothing waits"
    release.set()


def test_waiting_for_delivery_ends_when_it_is_closed(
    clock: ManualClock, honcho: InMemoryHoncho, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for what will not come any more is told so."""
    outbox = InMemoryOutbox()

    def tally(server: str) -> Tally:
        return Tally(waiting=1)

    monkeypatch.setattr(outbox, "tally", tally)
    delivery = delivery_of(Script(), clock, outbox)
    results: list[bool] = []
    waiting = threading.Thread(target=lambda: results.append(delivery.flush(PATIENCE)))
    waiting.start()

    delivery.close(PATIENCE)
    waiting.join(PATIENCE)

    assert [False] == results


def test_a_fork_starts_threads_of_its_own(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child does not rely on threads that only its parent has."""
    script = Script()
    delivery = delivery_of(script, clock)
    delivery.wake()
    assert script.is_done.wait(PATIENCE)
    script.is_done.clear()
    monkeypatch.setattr("os.getpid", lambda: -1)

    delivery.wake()

    assert script.is_done.wait(PATIENCE)
    delivery.close(PATIENCE)


def test_another_process_may_deliver_what_waits(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for delivery notices it although nobody in this process did it."""
    outbox = InMemoryOutbox()
    tallies = [Tally(waiting=1), Tally()]

    def tally(server: str) -> Tally:
        return tallies.pop(0)

    monkeypatch.setattr(outbox, "tally", tally)
    delivery = delivery_of(Script(), clock, outbox)

    assert delivery.flush(PATIENCE)
    delivery.close(PATIENCE)


def test_a_process_without_room_for_threads_delivers_later(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was accepted stays accepted; the next wake tries to start the threads again."""
    script = Script()
    delivery = delivery_of(script, clock)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        delivery.wake()
    assert ["delivery waits: can't start new thread"] == caplog.messages

    delivery.wake()

    assert script.is_done.wait(PATIENCE)
    delivery.close(PATIENCE)
