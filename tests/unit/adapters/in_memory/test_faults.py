"""The ways in which a Honcho in memory fails on demand."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock, faults
from honcho_memory.adapters.in_memory.faults import Fault, Faults
from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable
from honcho_memory.domain.messages import Outgoing

DOWN = HonchoUnavailable("down", status=503, retry_after=2.0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def honcho(clock: ManualClock) -> InMemoryHoncho:
    return InMemoryHoncho(clock=clock)


def say(honcho: InMemoryHoncho, content: str = "Hello", *, timeout: float = 30.0) -> None:
    said_at = datetime(2026, 1, 1, tzinfo=UTC)
    honcho.add_messages("ws", "s", [Outgoing("k", "alice", content, said_at)], timeout=timeout)


def card(honcho: InMemoryHoncho) -> tuple[str, ...]:
    return honcho.peer_card("ws", "alice", timeout=30.0)


def said(honcho: InMemoryHoncho) -> list[str]:
    return [each.content for each in honcho.messages("ws", "s")]


def lost(call: Callable[[], object]) -> bool:
    """Whether a call fails with its outcome unknown."""
    with pytest.raises(HonchoUnavailable) as caught:
        call()
    return caught.value.outcome_unknown


def test_fails_as_often_as_it_is_told(honcho: InMemoryHoncho) -> None:
    """A failing Honcho carries nothing out, and recovers after the given number of calls."""
    fault = honcho.faults.fail(DOWN, times=2)

    for _ in range(2):
        with pytest.raises(HonchoUnavailable, match="down") as caught:
            say(honcho, "lost")
        assert (503, 2.0) == (caught.value.status, caught.value.retry_after)
    say(honcho, "kept")

    assert ["kept"] == said(honcho)
    assert fault.hits == 2


def test_each_failure_is_an_error_of_its_own(honcho: InMemoryHoncho) -> None:
    """Errors raised in several threads share no traceback."""
    honcho.faults.fail(DOWN, times=2)
    errors: list[HonchoUnavailable] = []
    for _ in range(2):
        with pytest.raises(HonchoUnavailable) as caught:
            say(honcho)
        errors.append(caught.value)

    assert errors[0] is not errors[1]
    assert DOWN not in errors


def test_fails_one_operation(honcho: InMemoryHoncho) -> None:
    """A fault of one operation leaves the others alone."""
    honcho.faults.fail(DOWN, operation="add_messages")

    assert () == card(honcho)
    with pytest.raises(HonchoUnavailable):
        say(honcho)


def test_fails_until_stopped(honcho: InMemoryHoncho) -> None:
    """Without a number it fails until the fault is stopped."""
    fault = honcho.faults.fail(DOWN, times=None)
    for _ in range(5):
        with pytest.raises(HonchoUnavailable):
            say(honcho)

    fault.stop()
    say(honcho)

    assert ["Hello"] == said(honcho)


def test_clear_takes_every_fault_back(honcho: InMemoryHoncho) -> None:
    """After clearing, nothing goes wrong any more."""
    honcho.faults.fail(DOWN, times=None)
    honcho.faults.lose_answer()

    honcho.faults.clear()
    say(honcho)

    assert ["Hello"] == said(honcho)


def test_faults_happen_in_the_order_in_which_they_were_set(honcho: InMemoryHoncho) -> None:
    """A sequence of faults is set one after the other."""
    honcho.faults.fail(DOWN)
    honcho.faults.fail(HonchoRejected("no", status=422))

    with pytest.raises(HonchoUnavailable):
        say(honcho)
    with pytest.raises(HonchoRejected):
        say(honcho)
    say(honcho)


def test_failed_calls_are_requests_too(honcho: InMemoryHoncho) -> None:
    """Requests are counted whatever becomes of them."""
    honcho.faults.fail(DOWN)
    with pytest.raises(HonchoUnavailable):
        say(honcho)

    assert ["add_messages"] == [request.operation for request in honcho.requests]


def test_loses_an_answer(honcho: InMemoryHoncho) -> None:
    """A call whose answer is lost fails, and was carried out."""
    honcho.faults.lose_answer()

    assert lost(lambda: say(honcho))
    assert ["Hello"] == said(honcho)


def test_loses_a_refusal(honcho: InMemoryHoncho) -> None:
    """A refusal can get lost like any other answer."""
    honcho.faults.lose_answer()

    assert lost(lambda: say(honcho, "<|endoftext|>"))
    assert [] == said(honcho)


def test_carries_out_later(honcho: InMemoryHoncho) -> None:
    """A request can arrive after its caller has given up and others have been served."""
    late = honcho.faults.carry_out_later(times=3)
    for content in ("first", "<|endoftext|>", "second"):
        assert lost(lambda content=content: say(honcho, content))  # type: ignore[misc]
    say(honcho, "meanwhile")
    before = said(honcho)

    late.release()

    assert ["meanwhile"] == before
    assert ["meanwhile", "first", "second"] == said(honcho)


def test_carries_out_at_once_when_released_before(honcho: InMemoryHoncho) -> None:
    """After the release a request of that kind only loses its answer."""
    late = honcho.faults.carry_out_later(times=2)
    late.release()

    assert lost(lambda: say(honcho))
    assert ["Hello"] == said(honcho)


def test_carries_out_later_although_closed(honcho: InMemoryHoncho) -> None:
    """What is on its way arrives when its sender has gone."""
    late = honcho.faults.carry_out_later()
    assert lost(lambda: say(honcho))
    honcho.close()

    late.release()

    assert ["Hello"] == said(honcho)


def test_is_slow(honcho: InMemoryHoncho, clock: ManualClock) -> None:
    """A slow call takes its time, and succeeds within its time-out."""
    honcho.faults.slow_down(3.0, clock)

    say(honcho, timeout=3.0)

    assert clock.monotonic() == 3.0
    assert ["Hello"] == said(honcho)


def test_is_too_slow(honcho: InMemoryHoncho, clock: ManualClock) -> None:
    """A call that takes longer than it may fails in time, and is carried out all the same."""
    honcho.faults.slow_down(3.0, clock)

    assert lost(lambda: say(honcho, timeout=2.0))
    assert clock.monotonic() == 2.0
    assert ["Hello"] == said(honcho)


def in_background(call: Callable[[], object], fault: Fault) -> Future[object]:
    """Run a call that a fault holds up."""
    with_hits = fault.hits + 1
    pool = ThreadPoolExecutor(1)
    future = pool.submit(call)
    pool.shutdown(wait=False)
    fault.wait_until_hit(with_hits)
    return future


def test_holds_a_request_up(honcho: InMemoryHoncho) -> None:
    """A request that is held up is carried out on release, and holds nobody else up."""
    held = honcho.faults.hold()
    future = in_background(lambda: say(honcho, "held"), held)
    say(honcho, "meanwhile")
    assert not future.done()

    held.release()
    future.result()

    assert ["meanwhile", "held"] == said(honcho)


def test_never_answers(honcho: InMemoryHoncho) -> None:
    """A request that is never answered does nothing, and fails when the test lets it."""
    hanging = honcho.faults.hang()
    future = in_background(lambda: say(honcho), hanging)
    assert not future.done()

    hanging.release()

    assert lost(future.result)
    assert [] == said(honcho)


@pytest.mark.parametrize("switch", [Faults.hold, Faults.hang])
def test_closing_ends_every_wait(honcho: InMemoryHoncho, switch: Callable[[Faults], Fault]) -> None:
    """A client that is closed waits for nothing, whatever hangs."""
    fault = switch(honcho.faults)
    future = in_background(lambda: say(honcho), fault)

    honcho.close()

    assert lost(future.result)
    assert [] == said(honcho)


def test_a_request_that_does_not_come_fails_the_test(
    honcho: InMemoryHoncho, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting for a request ends in an error rather than never."""
    monkeypatch.setattr(faults, "_LONGEST_WAIT", 0.0)
    fault = honcho.faults.hang()

    with pytest.raises(TimeoutError, match="0 requests of 1"):
        fault.wait_until_hit()
