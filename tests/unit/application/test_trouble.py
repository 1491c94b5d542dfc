"""What a session has met with on earlier trips, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.application import courier as module
from honcho_memory.application.courier import LONGEST_BACKOFF, Courier
from honcho_memory.application.equipment import CourierRules, Equipment
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Draft, Lane, Tally

SERVER = "http://honcho"
RULES = CourierRules(SERVER, timeout=10, assistant_peer="deerflow", assistant_observed=True)
NO = HonchoRejected("no", status=422)
ERROR_500 = HonchoUnavailable("failed", status=500)


class Post:
    """An outbox, a Honcho and a courier between them, under one clock."""

    def __init__(
        self, honcho: InMemoryHoncho, requests: Requests, state: ServerState, clock: ManualClock
    ) -> None:
        self.honcho = honcho
        self.clock = clock
        self.outbox = InMemoryOutbox()
        equipment = Equipment(RULES, honcho, self.outbox, requests, clock)
        self.courier = Courier(equipment, state, jitter=lambda: 1.0)

    def put(self, *contents: str, session: str = "s") -> None:
        """Accept messages, each known by its content."""
        at = datetime(2026, 3, 1, tzinfo=UTC)
        drafts = [
            Draft(Outgoing(content, "ada", content, at, {"host_message_id": content}))
            for content in contents
        ]
        self.outbox.put(Lane(SERVER, "ws", session), drafts, now=self.clock.time())

    def deliver(self) -> None:
        """Deliver what can be delivered by the time that the longest pause is over."""
        self.clock.advance(LONGEST_BACKOFF)
        while self.courier.deliver_next() is not None:
            pass

    def stored(self, session: str = "s") -> list[str]:
        """What Honcho holds of a session."""
        return [kept.content for kept in self.honcho.messages("ws", session)]

    @property
    def refused(self) -> list[str]:
        """What was set aside."""
        return [row.message.content for row in self.outbox.refused(SERVER)]


@pytest.fixture
def post(
    honcho: InMemoryHoncho, requests: Requests, state: ServerState, clock: ManualClock
) -> Post:
    """The parts of a delivery."""
    return Post(honcho, requests, state, clock)


@pytest.mark.parametrize("named", [{}, {0: "bad", 1: "bad"}])
def test_a_server_that_refuses_everything_empties_no_session_turn_by_turn(
    post: Post, named: dict[int, str]
) -> None:
    """What is refused adds up until something is accepted; then the session stops."""
    error = HonchoRejected("new field missing", status=422, refused=named)
    refusal = post.honcho.faults.fail(error, operation="add_messages", times=None)
    for turn in range(5):
        post.put(f"question {turn}", f"answer {turn}")
        post.deliver()
    assert Tally(waiting=8, set_aside=2) == post.outbox.tally(SERVER)

    refusal.stop()
    post.deliver()

    assert 8 == len(post.stored())


def test_messages_that_were_named_do_not_hide_one_that_was_not(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the bad messages at its head are refused, a session goes on behind them."""
    real = post.honcho.add_messages

    def pick(workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float) -> None:
        named = {n: "bad" for n, each in enumerate(messages) if "named" in each.content}
        if named or any("unclear" in each.content for each in messages):
            raise HonchoRejected("some are bad", status=422, refused=named)
        real(workspace, session, messages, timeout=timeout)

    monkeypatch.setattr(post.honcho, "add_messages", pick)
    post.put("named 1", "named 2", "unclear", "good")

    post.deliver()

    assert ["good"] == post.stored()
    assert ["named 1", "named 2", "unclear"] == post.refused


def test_a_500_after_other_failures_is_no_refusal(post: Post) -> None:
    """A session that could not be written for a while is not taken for one that is refused."""
    post.put("question", "answer")
    post.honcho.faults.fail(HonchoRejected("conflict", status=409), times=9)
    post.honcho.faults.fail(ERROR_500, operation="add_messages", times=5)

    for _ in range(15):
        post.deliver()

    assert ["question", "answer"] == post.stored()
    assert [] == post.refused


def test_a_success_ends_a_row_of_500s(post: Post) -> None:
    """Only a row that nothing interrupts is a refusal."""
    for turn in range(3):
        post.put(f"{turn}")
        post.honcho.faults.fail(ERROR_500, operation="add_messages", times=5)
        for _ in range(6):
            post.deliver()

    assert ["0", "1", "2"] == post.stored()
    assert [] == post.refused


def test_troubles_do_not_pile_up(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many sessions with a trouble the oldest is forgotten, which costs only some tries."""
    monkeypatch.setattr(module, "_MOST_TROUBLES", 2)
    refusal = post.honcho.faults.fail(NO, operation="add_messages", times=None)
    for session in ("one", "two", "three"):
        post.put(f"question in {session}", f"answer in {session}", session=session)
        post.deliver()
    assert 6 == len(post.refused)

    for session in ("one", "three"):
        post.put(f"bad in {session}", session=session)
        post.deliver()
    refusal.stop()

    assert "bad in one" in post.refused
    assert "bad in three" not in post.refused
