"""A process that is stopped while it delivers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.application.courier import Courier
from honcho_memory.application.equipment import CourierRules, Equipment
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Claim, Draft, Lane, Tally

SERVER = "http://honcho"
RULES = CourierRules(SERVER, timeout=10, assistant_peer="deerflow", assistant_observed=True)


def test_a_process_that_was_stopped_while_it_renewed_sends_nothing(
    honcho: InMemoryHoncho,
    requests: Requests,
    state: ServerState,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its lease may be over by then, and the session somebody else's."""
    outbox = InMemoryOutbox()
    message = Outgoing("key", "ada", "hello", datetime(2026, 3, 1, tzinfo=UTC))
    outbox.put(Lane(SERVER, "ws", "s"), [Draft(message)], now=clock.time())
    real = outbox.renew

    def renew_and_sleep(claim: Claim, *, now: float, lease: float) -> bool:
        is_held = real(claim, now=now, lease=lease)
        clock.advance(RULES.timeout + 1)
        return is_held

    monkeypatch.setattr(outbox, "renew", renew_and_sleep)

    Courier(Equipment(RULES, honcho, outbox, requests, clock), state).deliver_next()

    assert [] == honcho.requests
    assert Tally(waiting=1) == outbox.tally(SERVER)
