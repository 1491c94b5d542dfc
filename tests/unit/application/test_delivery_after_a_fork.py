"""Delivery in a process that was forked."""

from __future__ import annotations

import os
import threading

import pytest

from honcho_memory.adapters.in_memory import InMemoryOutbox, ManualClock
from honcho_memory.application.delivery import Delivery
from honcho_memory.application.server_state import ServerState


def test_a_fork_closes_whatever_its_parent_was_doing(
    state: ServerState, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that a thread of the parent held at the fork is never released in the child."""
    calls: list[None] = []
    delivery = Delivery(lambda: calls.append(None), InMemoryOutbox(), "http://honcho", state, clock)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with delivery._changed:
            held.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    monkeypatch.setattr(os, "getpid", lambda: -1)

    delivery.close(0)
    delivery.wake()

    release.set()
    holder.join()
    assert [] == calls
