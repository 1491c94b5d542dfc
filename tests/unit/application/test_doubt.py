"""When Honcho is asked about a message that follows what is known."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryOutbox, ManualClock
from honcho_memory.application.remembering import Remembering, RememberingRules
from honcho_memory.application.trip import DOUBTFUL_AFTER
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.messages import Message, Role
from honcho_memory.domain.transcript import LengthLimit

SERVER = "http://honcho"
RULES = RememberingRules(SERVER, Identities(), LengthLimit())
ADA = Identities().user("ada")


@pytest.mark.parametrize(
    ("said_before", "is_doubtful"),
    [(None, False), (DOUBTFUL_AFTER - 1, False), (DOUBTFUL_AFTER, True)],
)
def test_what_was_said_a_while_ago_is_asked_for(
    clock: ManualClock, said_before: float | None, is_doubtful: bool
) -> None:
    """Another machine may have taken that turn, whose answer is regenerated on this one."""
    outbox = InMemoryOutbox()
    remembering = Remembering(RULES, MessageReader(), clock)
    said_at = (
        None if said_before is None else datetime.fromtimestamp(clock.time() - said_before, UTC)
    )
    known = Message(Role.USER, "known", id="known")
    turn = [
        Message(Role.USER, "question", id="question", said_at=said_at),
        Message(Role.ASSISTANT, "answer", id="answer"),
    ]
    assert ADA is not None

    remembering.accept(outbox, "thread", [known], ADA, context={})
    remembering.accept(outbox, "thread", [known, *turn], ADA, context={})

    claim = outbox.claim(
        SERVER, holder="me", now=clock.time(), lease=1, limit=100, max_bytes=10_000
    )
    assert claim is not None
    assert [True, is_doubtful, is_doubtful] == [row.doubtful for row in claim.rows]


@pytest.mark.parametrize("begins_a_turn", [True, False])
def test_an_answer_that_was_missed_is_asked_for(clock: ManualClock, begins_a_turn: bool) -> None:
    """Another machine has regenerated it; what comes next comes to this one again."""
    outbox = InMemoryOutbox()
    remembering = Remembering(RULES, MessageReader(), clock)
    known = Message(Role.USER, "known", id="known")
    turn = [
        Message(Role.ASSISTANT, "another answer", id="another answer"),
        *([Message(Role.USER, "question", id="question")] if begins_a_turn else []),
    ]
    assert ADA is not None

    remembering.accept(outbox, "thread", [known], ADA, context={})
    remembering.accept(outbox, "thread", [known, *turn], ADA, context={})

    claim = outbox.claim(
        SERVER, holder="me", now=clock.time(), lease=1, limit=100, max_bytes=10_000
    )
    assert claim is not None
    assert len(turn) == len(claim.rows) - 1
    assert all(row.doubtful for row in claim.rows)
