"""Requests are bounded in time and in number."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from honcho_memory.adapters.in_memory import ManualClock
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import LOST_ANSWERS, Condition, ServerState
from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable


class Hanging:
    """Calls that do not end before they are released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.started = threading.Semaphore(0)

    def __call__(self, timeout: float) -> str:
        self.started.release()
        self.released.wait()
        return "late"


@pytest.fixture
def hanging() -> Hanging:
    """One such call."""
    return Hanging()


@pytest.fixture
def state() -> ServerState:
    """A server that is well."""
    return ServerState(ManualClock(), jitter=lambda: 1.0)


def requests_of(state: ServerState, limit: int = 2) -> Requests:
    """Requests to that server, under a clock that stands still."""
    return Requests(state, ManualClock(), limit=limit)


def test_a_request_is_told_how_long_it_may_take(state: ServerState) -> None:
    """What a request returns is what the caller gets."""
    assert 4.0 == requests_of(state).run(lambda timeout: timeout, timeout=4.0)


def test_a_request_is_made_in_its_callers_context(state: ServerState) -> None:
    """Whatever the host keeps there, such as its trace, is there for the request too."""
    variable = ContextVar("variable", default="another's")
    variable.set("the caller's")

    assert "the caller's" == requests_of(state).run(lambda _: variable.get(), timeout=4.0)


def test_a_request_that_fails_says_so(state: ServerState) -> None:
    """A refusal reaches the caller, and the server counts as there."""

    def refuse(timeout: float) -> None:
        raise HonchoRejected("no", status=422)

    with pytest.raises(HonchoRejected, match="no"):
        requests_of(state).run(refuse, timeout=4.0)

    assert Condition.OK is state.condition


def test_a_foreign_error_passes(state: ServerState) -> None:
    """A fault in the program is not taken for a fault of the server."""

    def stumble(timeout: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        requests_of(state).run(stumble, timeout=4.0)

    assert Condition.OK is state.condition


def test_a_request_that_hangs_is_left_behind(state: ServerState, hanging: Hanging) -> None:
    """When its time is up the caller goes on; whether it was carried out is not known."""
    with pytest.raises(HonchoUnavailable, match="in time") as caught:
        requests_of(state).run(hanging, timeout=0)

    assert caught.value.outcome_unknown
    assert Condition.OK is state.condition, "one slow operation is no outage"
    hanging.released.set()


def test_a_server_that_never_answers_is_left_alone(state: ServerState, hanging: Hanging) -> None:
    """After some lost answers in a row nobody waits for that server any more."""
    requests = requests_of(state, limit=9)
    for _ in range(LOST_ANSWERS):
        with pytest.raises(HonchoUnavailable, match="in time"):
            requests.run(hanging, timeout=0)

    assert Condition.DOWN is state.condition
    hanging.released.set()


def test_hanging_requests_do_not_pile_up(state: ServerState, hanging: Hanging) -> None:
    """With so many overdue the next one fails at once; when they end there is room again."""
    requests = requests_of(state, limit=2)
    for _ in range(2):
        with pytest.raises(HonchoUnavailable, match="in time"):
            requests.run(hanging, timeout=0)

    with pytest.raises(HonchoUnavailable, match="too many"):
        requests.start(hanging, timeout=60)

    hanging.released.set()
    while requests._overdue:
        threading.Event().wait(0.001)
    assert "late" == requests.run(hanging, timeout=60)


def test_requests_that_will_end_are_waited_for(state: ServerState, hanging: Hanging) -> None:
    """Many at once is no outage: each gets its turn within its own time."""
    requests = requests_of(state, limit=1)
    first = requests.start(hanging, timeout=60)
    hanging.started.acquire()
    releasing = threading.Thread(target=hanging.released.set)
    releasing.start()

    assert 60 == requests.run(lambda timeout: timeout, timeout=60)
    assert "late" == first.result()
    releasing.join()


def test_a_request_that_ends_a_thread_ends_only_its_own(state: ServerState) -> None:
    """What is no Exception is not raised into whoever waits: it would pass every gate there."""

    def panic(timeout: float) -> None:
        raise SystemExit

    with pytest.raises(RuntimeError, match="SystemExit"):
        requests_of(state).run(panic, timeout=4.0)


def test_nothing_is_started_while_honcho_is_down(state: ServerState) -> None:
    """A server that is known to be down costs its callers nothing."""
    state.failed(HonchoUnavailable("down"), state.enter())
    calls: list[float] = []

    with pytest.raises(HonchoUnavailable):
        requests_of(state).run(calls.append, timeout=4.0)

    assert [] == calls


def test_a_lack_of_threads_passes(state: ServerState, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that no thread can be had for leaves its place to the next one."""
    requests = requests_of(state, limit=1)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(HonchoUnavailable, match="new thread") as caught:
            requests.start(lambda timeout: timeout, timeout=4.0)

    assert not caught.value.outcome_unknown
    assert 4.0 == requests.run(lambda timeout: timeout, timeout=4.0)
