"""Requests of processes that were stopped or forked."""

from __future__ import annotations

import os
import threading

import pytest

from honcho_memory.adapters.in_memory import ManualClock
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.errors import HonchoUnavailable


def test_what_began_too_late_is_not_sent(
    state: ServerState, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped before its thread ran must not send under a lapsed lease."""
    real = threading.Thread.start

    def sleep_and_start(thread: threading.Thread) -> None:
        clock.advance(10.1)
        real(thread)
        thread.join()

    monkeypatch.setattr(threading.Thread, "start", sleep_and_start)
    calls: list[float] = []

    with pytest.raises(HonchoUnavailable) as caught:
        Requests(state, clock, limit=1).run(calls.append, timeout=10.0)

    assert [] == calls
    assert not caught.value.outcome_unknown


def test_a_fork_is_not_held_back_by_requests_of_its_parent(
    state: ServerState, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its parent had under way at the fork ends in the parent alone."""
    requests, release = Requests(state, clock, limit=1), threading.Event()
    requests.start(lambda timeout: release.wait(), timeout=60)

    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert "answer" == requests.run(lambda timeout: "answer", timeout=60)
    release.set()
