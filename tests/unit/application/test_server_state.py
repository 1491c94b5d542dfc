"""What delivery and recall know together about the server."""

from __future__ import annotations

import logging

import pytest

from honcho_memory.adapters.in_memory import ManualClock
from honcho_memory.application.server_state import (
    LONGEST_PAUSE,
    LONGEST_RETRY_AFTER,
    LOST_ANSWERS,
    SLOW_PROBE,
    Condition,
    Failure,
    ServerState,
    backoff,
)
from honcho_memory.domain.errors import (
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnauthorized,
    HonchoUnavailable,
)

REFUSED = HonchoUnavailable("connection refused")


def fail(state: ServerState, error: HonchoRequestError) -> None:
    """Let one request fail."""
    state.failed(error, state.enter())


@pytest.mark.parametrize("status", [None, 429, 502, 503, 504])
def test_a_server_that_is_down_is_left_alone_for_a_while(
    state: ServerState, clock: ManualClock, status: int | None
) -> None:
    """After a failure that concerns everything, nothing is sent until a pause is over."""
    fail(state, HonchoUnavailable("down", status=status))

    assert Condition.DOWN is state.condition
    with pytest.raises(HonchoUnavailable, match="down"):
        state.enter()
    clock.advance(state.pause())
    state.enter()


@pytest.mark.parametrize(
    "error",
    [
        HonchoUnavailable("failed", status=500),
        HonchoRejected("no", status=422),
        HonchoNotFound("no", status=404),
    ],
)
def test_an_answer_says_that_the_server_is_there(
    state: ServerState, error: HonchoRequestError
) -> None:
    """A refusal or a 500 counts against the operation alone."""
    fail(state, error)

    assert Condition.OK is state.condition
    assert 0 == state.pause()


def test_while_it_is_down_one_request_tries(state: ServerState, clock: ManualClock) -> None:
    """When the pause is over one request goes through, the next waits for what comes of it."""
    fail(state, REFUSED)
    clock.advance(state.pause())

    state.enter()

    with pytest.raises(HonchoUnavailable):
        state.enter()


def test_pauses_double_up_to_a_ceiling(state: ServerState, clock: ManualClock) -> None:
    """A server that stays down is tried ever more rarely, but not more rarely than that."""
    pauses: list[float] = []
    for _ in range(9):
        fail(state, REFUSED)
        pauses.append(state.pause())
        clock.advance(state.pause())

    assert [1, 2, 4, 8, 16, 32, 60, 60, 60] == pauses
    assert pauses[-1] == LONGEST_PAUSE


def test_one_outage_counts_once(state: ServerState) -> None:
    """Many requests that fail in the same moment do not make the pause longer."""
    tickets = [state.enter() for _ in range(5)]

    for ticket in tickets:
        state.failed(REFUSED, ticket)

    assert 1 == state.pause()


def test_an_answer_ends_the_outage(state: ServerState, clock: ManualClock) -> None:
    """After one good answer everything goes through, and the next outage begins anew."""
    for _ in range(4):
        fail(state, REFUSED)
        clock.advance(state.pause())
    state.enter()
    state.answered()

    state.enter()
    fail(state, REFUSED)

    assert 1 == state.pause()


def test_the_server_may_ask_for_more_time(state: ServerState) -> None:
    """A Retry-After is honoured, but not one of a year."""
    fail(state, HonchoUnavailable("busy", status=429, retry_after=17))
    assert 17 == state.pause()


def test_a_server_cannot_ask_for_ever(state: ServerState) -> None:
    """A Retry-After of a year would be an outage of our own making."""
    fail(state, HonchoUnavailable("busy", status=429, retry_after=1e9))

    assert LONGEST_RETRY_AFTER == state.pause()


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (HonchoUnauthorized("Invalid JWT", status=401), Condition.UNAUTHORIZED),
        (HonchoProtocolError("HTML"), Condition.NOT_HONCHO),
    ],
)
def test_what_a_person_must_mend_is_said_once_and_tried_slowly(
    state: ServerState,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
    error: HonchoRequestError,
    condition: Condition,
) -> None:
    """A wrong key or address does not mend itself: one line in the log, and a rare probe."""
    with caplog.at_level(logging.INFO, logger="honcho_memory"):
        for _ in range(3):
            fail(state, error)
            assert SLOW_PROBE == state.pause()
            clock.advance(SLOW_PROBE)
        state.enter()
        state.answered()

    assert condition is not state.condition
    assert Failure(type(error).__name__, str(error), clock.time() - SLOW_PROBE) == (
        state.last_failure
    )
    assert ["WARNING", "INFO"] == [record.levelname for record in caplog.records]


@pytest.mark.parametrize(
    "error",
    [
        HonchoUnauthorized("no access to this workspace", status=401),
        HonchoProtocolError("a strange answer"),
        HonchoUnavailable("in time", outcome_unknown=True),
    ],
)
def test_one_failure_is_not_everybodys(state: ServerState, error: HonchoRequestError) -> None:
    """Where Honcho has answered, one workspace or one slow search does not stop the others."""
    state.answered()

    fail(state, error)

    assert Condition.OK is state.condition


def test_lost_answers_in_a_row_are_an_outage(state: ServerState) -> None:
    """A server that answers nothing any more is down, but an answer in between says it is not."""
    lost = HonchoUnavailable("in time", outcome_unknown=True)
    for _ in range(LOST_ANSWERS - 1):
        fail(state, lost)
    state.answered()
    for _ in range(LOST_ANSWERS - 1):
        fail(state, lost)
    assert 0 == state.pause()

    fail(state, lost)

    assert Condition.DOWN is state.condition


def test_chance_keeps_processes_out_of_step() -> None:
    """Half of a pause is left to chance."""
    assert (0.5, 0.75, 1.0) == tuple(backoff(1, jitter, longest=60) for jitter in (0, 0.5, 1))
    assert 60 == backoff(10_000, 1, longest=60)
