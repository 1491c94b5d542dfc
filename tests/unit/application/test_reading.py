"""The one gate that every read passes."""

from __future__ import annotations

import logging
from typing import NoReturn

import pytest

from honcho_memory.application.reading import ReadGate
from honcho_memory.domain.errors import HonchoMemoryError, HonchoUnavailable
from honcho_memory.domain.policy import ReadPolicy
from honcho_memory.domain.results import Document, Found, Outcome, Recall


def raising(error: Exception) -> NoReturn:
    """A read that fails."""
    raise error


@pytest.mark.parametrize("error", [HonchoUnavailable("down"), RuntimeError("secret words")])
def test_fail_open_gives_the_fallback(error: Exception) -> None:
    """Whatever a read raises, the agent runs on, and the fallback knows what happened."""
    gate = ReadGate(ReadPolicy.FAIL_OPEN)

    result = gate.read(lambda: raising(error), lambda failure: Found(error=failure))

    assert isinstance(result.error, HonchoMemoryError)


def test_fail_closed_raises_our_own_errors() -> None:
    """An error of ours is raised as it is."""
    error = HonchoUnavailable("down")

    with pytest.raises(HonchoUnavailable) as caught:
        ReadGate(ReadPolicy.FAIL_CLOSED).read(lambda: raising(error), lambda _: Found())

    assert error is caught.value


def test_fail_closed_raises_foreign_errors_as_ours() -> None:
    """A foreign error is chained, and its text, which may hold what users said, is not shown."""
    error = RuntimeError("secret words")

    with pytest.raises(HonchoMemoryError, match="RuntimeError") as caught:
        ReadGate(ReadPolicy.FAIL_CLOSED).read(lambda: raising(error), lambda _: Found())

    assert error is caught.value.__cause__
    assert "secret" not in str(caught.value)


def test_an_outage_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """The log tells when reads begin to fail and when they are well again, not every call."""
    gate = ReadGate(ReadPolicy.FAIL_OPEN)
    with caplog.at_level(logging.INFO, logger="honcho_memory"):
        for _ in range(3):
            gate.read(lambda: raising(HonchoUnavailable("down")), lambda _: Found())
        for _ in range(3):
            gate.read(Found, lambda _: Found())

    assert ["memory cannot be read: down", "memory can be read again"] == caplog.messages


def test_an_outage_that_an_old_answer_bridges_is_said_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever reads the log learns that what is served is old."""
    gate, stale = ReadGate(ReadPolicy.FAIL_OPEN), Found(error=HonchoUnavailable("down"))

    for _ in range(3):
        assert stale is gate.read(lambda: stale, lambda _: Found())

    assert ["memory cannot be read: down"] == caplog.messages


@pytest.mark.parametrize(
    "served",
    [
        Recall(outcome=Outcome.FRESH),
        Recall(outcome=Outcome.NOBODY),
        Found(is_asked=False),
        Document(is_asked=False),
    ],
)
def test_what_was_not_asked_for_does_not_end_an_outage(
    caplog: pytest.LogCaptureFixture, served: Recall | Found | Document
) -> None:
    """While one user's answer is still fresh, and another's cannot be had, it is one outage."""
    gate = ReadGate(ReadPolicy.FAIL_OPEN)
    with caplog.at_level(logging.INFO, logger="honcho_memory"):
        for _ in range(3):
            gate.read(lambda: raising(HonchoUnavailable("down")), lambda _: Recall())
            gate.read(lambda: served, lambda _: served)
        gate.read(Recall, lambda _: Recall())

    assert ["memory cannot be read: down", "memory can be read again"] == caplog.messages
