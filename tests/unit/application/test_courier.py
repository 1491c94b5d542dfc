"""Delivery, claim by claim: what is asked, what is sent, and what becomes of failures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.application.courier import LONGEST_BACKOFF, Courier
from honcho_memory.application.equipment import CourierRules, Equipment
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import SLOW_PROBE, Condition, ServerState
from honcho_memory.application.trip import DOUBTFUL_AFTER
from honcho_memory.domain.errors import (
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoUnauthorized,
    HonchoUnavailable,
    OutboxUnavailable,
)
from honcho_memory.domain.messages import Outgoing
from honcho_memory.domain.text import text_digest
from honcho_memory.ports.honcho import MessagePage
from honcho_memory.ports.outbox import Draft, Lane, Tally

SERVER, LANE = "http://honcho", Lane("http://honcho", "ws", "s")
RULES = CourierRules(SERVER, timeout=10, assistant_peer="deerflow", assistant_observed=True)
ERROR_500 = HonchoUnavailable("failed", status=500)


class Post:
    """An outbox, a Honcho and a courier between them, under one clock."""

    def __init__(
        self,
        honcho: InMemoryHoncho,
        requests: Requests,
        state: ServerState,
        clock: ManualClock,
        rules: CourierRules = RULES,
    ) -> None:
        self.honcho = honcho
        self.clock = clock
        self.outbox = InMemoryOutbox()
        self.equipment = Equipment(rules, honcho, self.outbox, requests, clock)
        self.courier = Courier(self.equipment, state, jitter=lambda: 1.0)

    def put(
        self, *contents: str, lane: Lane = LANE, doubtful: bool = False, builtin: bool = False
    ) -> None:
        """Accept messages, each known by its content."""
        drafts = [
            Draft(
                message(content),
                doubtful=doubtful,
                builtin_digest=text_digest(content) if builtin else None,
            )
            for content in contents
        ]
        self.outbox.put(lane, drafts, now=self.clock.time())

    def deliver(self) -> int:
        """Deliver until there is nothing to do now; returns how many arrived."""
        total = 0
        while (arrived := self.courier.deliver_next()) is not None:
            total += arrived
        return total

    @property
    def stored(self) -> list[str]:
        """What Honcho holds of the session."""
        return [kept.content for kept in self.honcho.messages("ws", "s")]

    @property
    def operations(self) -> list[str]:
        """What Honcho was asked to do."""
        return [request.operation for request in self.honcho.requests]

    @property
    def tally(self) -> Tally:
        """What the outbox holds."""
        return self.outbox.tally(SERVER)


def message(content: str) -> Outgoing:
    """A message of which only the content matters."""
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return Outgoing(content[:50], "ada", content, at, {"host_message_id": content[:50]})


@pytest.fixture
def sleepy_post(honcho: InMemoryHoncho, state: ServerState, clock: ManualClock) -> Post:
    """Time that passes while a request is under way does not race with its end."""
    return Post(honcho, Requests(state, ManualClock(), limit=8), state, clock)


@pytest.fixture
def post(
    honcho: InMemoryHoncho, requests: Requests, state: ServerState, clock: ManualClock
) -> Post:
    """The parts of a delivery."""
    return Post(honcho, requests, state, clock)


def numbered(count: int) -> Sequence[str]:
    """So many different messages."""
    return [f"message {number}" for number in range(count)]


def test_a_turn_is_one_request(post: Post) -> None:
    """What is not in doubt is sent without a question."""
    post.put("question", "answer")

    assert 2 == post.deliver()
    assert ["question", "answer"] == post.stored
    assert ["add_messages"] == post.operations


def test_with_nothing_waiting_nothing_happens(post: Post) -> None:
    """An idle delivery costs Honcho nothing."""
    assert post.courier.deliver_next() is None
    assert [] == post.operations


def test_what_is_stored_is_not_sent(post: Post) -> None:
    """Where there is doubt Honcho is asked, and only what it lacks is sent."""
    post.honcho.add_messages("ws", "s", [message("one")], timeout=1)
    post.honcho.forget_requests()
    post.put("one", "two", doubtful=True)

    assert 2 == post.deliver()
    assert ["one", "two"] == post.stored
    assert ["find_messages", "add_messages"] == post.operations


def test_what_another_program_stored_is_recognised_by_its_text(post: Post) -> None:
    """A message without a key counts where author and text are the same, over all pages."""
    foreign = [Outgoing("", "ada", text, datetime.now(UTC), {}) for text in numbered(150)]
    post.honcho.add_messages("ws", "s", foreign[:100], timeout=1)
    post.honcho.add_messages("ws", "s", foreign[100:], timeout=1)
    other = Outgoing("", "bob", "new", datetime.now(UTC), {})
    post.honcho.add_messages("ws", "s", [other], timeout=1)
    post.honcho.forget_requests()
    post.put("message 120", "new", doubtful=True, builtin=True)

    post.deliver()

    assert ["new", "new"] == post.stored[-2:]
    assert 152 == len(post.stored)
    assert ["find_messages", "find_messages", "add_messages"] == post.operations


def test_pages_without_end_are_not_followed(post: Post) -> None:
    """A server that always announces another page does not hold the delivery for ever."""

    def promise(
        workspace: str, session: str, keys: Sequence[str], **options: object
    ) -> MessagePage:
        return MessagePage((), has_more=True)

    post.honcho.find_messages = promise  # type: ignore[method-assign]
    post.put("one", doubtful=True)

    assert 1 == post.deliver()
    assert ["one"] == post.stored


def test_what_has_waited_long_is_asked_for(post: Post) -> None:
    """Another machine may have delivered it meanwhile."""
    post.put("one")
    post.clock.advance(DOUBTFUL_AFTER)

    post.deliver()

    assert ["find_messages", "add_messages"] == post.operations


def test_a_lost_answer_is_waited_for_and_then_asked_about(post: Post) -> None:
    """The lane stays held until the request cannot be carried out any more."""
    post.honcho.faults.lose_answer(operation="add_messages")
    post.put("one")

    assert 0 == post.deliver()
    post.clock.advance(RULES.lease - 1)
    assert 0 == post.deliver()
    post.clock.advance(1)
    assert 1 == post.deliver()
    assert ["one"] == post.stored
    assert ["add_messages", "find_messages"] == post.operations


def test_a_lost_question_holds_nothing_up(post: Post) -> None:
    """A question changes nothing: it can be asked again when the server is back."""
    post.honcho.faults.lose_answer(operation="find_messages")
    post.put("one", doubtful=True)
    post.deliver()

    post.clock.advance(1)

    assert 1 == post.deliver()
    assert ["one"] == post.stored


@pytest.mark.parametrize(
    ("error", "condition", "pause"),
    [
        (HonchoUnavailable("refused"), Condition.DOWN, 1),
        (HonchoUnavailable("busy", status=429, retry_after=7), Condition.DOWN, 7),
        (HonchoUnauthorized("Invalid JWT", status=401), Condition.UNAUTHORIZED, SLOW_PROBE),
        (HonchoProtocolError("HTML"), Condition.NOT_HONCHO, SLOW_PROBE),
    ],
)
def test_a_server_that_cannot_be_used_is_waited_for(
    post: Post, state: ServerState, error: Exception, condition: Condition, pause: float
) -> None:
    """No session is punished for it: with the server back, all go on at once, in order."""
    post.honcho.faults.fail(error)
    post.put("one", "two")
    assert 0 == post.deliver()
    assert condition is state.condition

    post.clock.advance(pause)

    assert 2 == post.deliver()
    assert ["one", "two"] == post.stored


@pytest.mark.parametrize(
    "error",
    [
        ERROR_500,
        HonchoNotFound("Session s not found in workspace ws", status=404),
        HonchoRejected("conflict", status=409),
        HonchoRejected("time-out", status=408),
    ],
)
def test_what_passes_by_itself_is_tried_again_later(
    post: Post, state: ServerState, error: Exception
) -> None:
    """A session that cannot be written for a while waits, the others go on."""
    other = Lane(SERVER, "ws", "other")
    post.honcho.faults.fail(error, times=2)
    post.put("one")
    post.deliver()
    post.clock.advance(1)
    post.deliver()
    post.put("else", lane=other)
    assert 1 == post.deliver()

    post.clock.advance(2)

    assert 1 == post.deliver()
    assert ["one"] == post.stored
    assert Condition.OK is state.condition


@pytest.mark.parametrize("bad", [{7}, {0, 50, 99}, set(range(99))])
def test_messages_that_honcho_names_are_set_aside(post: Post, bad: set[int]) -> None:
    """However many of a batch are bad, the rest is sent with the next request."""
    contents = [
        f"{number} <|endoftext|>" if number in bad else f"{number}" for number in range(100)
    ]
    post.put(*contents)

    assert 100 - len(bad) == post.deliver()
    assert [text for text in contents if "<" not in text] == post.stored
    assert 2 == len(post.operations)
    refused = post.outbox.refused(SERVER)
    assert [text for text in contents if "<" in text] == [row.message.content for row in refused]
    assert all(row.reason for row in refused)


def test_a_bad_message_that_is_not_named_is_found_by_halving(post: Post) -> None:
    """The others arrive in order, with few requests."""
    honcho = post.honcho
    store = honcho.add_messages

    def refuse(
        workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        if any(each.content == "message 37" for each in messages):
            raise HonchoRejected("no", status=413)
        store(workspace, session, messages, timeout=timeout)

    honcho.add_messages = refuse  # type: ignore[method-assign]
    post.put(*numbered(100))

    assert 99 == post.deliver()
    assert [text for text in numbered(100) if text != "message 37"] == post.stored
    assert Tally(set_aside=1) == post.tally


def test_a_server_that_refuses_everything_empties_no_session(post: Post) -> None:
    """When nothing is accepted, not the messages are wrong: all are kept and tried later."""
    refusal = post.honcho.faults.fail(
        HonchoRejected("new field missing", status=422), operation="add_messages", times=None
    )
    post.put(*numbered(20))

    assert 0 == post.deliver()
    assert Tally(waiting=20) == post.tally

    refusal.stop()
    post.clock.advance(LONGEST_BACKOFF)
    assert 20 == post.deliver()
    assert numbered(20) == post.stored


def test_a_server_that_names_everything_empties_no_session_either(post: Post) -> None:
    """The same when it names each message of the batch."""
    post.put(*(f"{number} <|endoftext|>" for number in range(3)))

    assert 0 == post.deliver()
    assert Tally(waiting=3) == post.tally


def test_a_lasting_500_is_taken_for_a_refusal(post: Post) -> None:
    """After six tries the message is sought that the server stumbles over."""
    real = post.honcho.add_messages

    def stumble(
        workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        if any(each.content == "message 2" for each in messages):
            raise ERROR_500
        real(workspace, session, messages, timeout=timeout)

    post.honcho.add_messages = stumble  # type: ignore[method-assign]
    post.put(*numbered(4))

    for _ in range(7):
        post.deliver()
        post.clock.advance(LONGEST_BACKOFF)

    assert ["message 0", "message 1", "message 3"] == post.stored
    assert Tally(set_aside=1) == post.tally


def test_a_500_that_was_carried_out_is_not_repeated(post: Post) -> None:
    """A server may fail after it has stored: before each new try it is asked."""
    real = post.honcho.add_messages

    def fail_late(
        workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        real(workspace, session, messages, timeout=timeout)
        raise ERROR_500

    failing = post.honcho.faults.fail(ERROR_500, operation="add_messages", times=6)
    post.put(*numbered(2))
    for _ in range(6):
        post.deliver()
        post.clock.advance(LONGEST_BACKOFF)
    assert 6 == failing.hits
    post.honcho.add_messages = fail_late  # type: ignore[method-assign]

    assert 2 == post.deliver()
    assert numbered(2) == post.stored
    assert Tally() == post.tally


def test_messages_refused_before_a_failure_stay_set_aside(post: Post) -> None:
    """What is known to be bad is noted even when the rest cannot be sent yet."""
    post.put("bad <|endoftext|>", "good", "better")
    real = post.honcho.add_messages
    calls: list[int] = []

    def refuse_then_fail(
        workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        calls.append(len(messages))
        if len(calls) == 2:
            raise HonchoUnavailable("down", status=503)
        real(workspace, session, messages, timeout=timeout)

    post.honcho.add_messages = refuse_then_fail  # type: ignore[method-assign]

    assert 0 == post.deliver()
    assert Tally(waiting=2, set_aside=1) == post.tally


def test_a_refusal_that_names_what_was_not_sent_names_nobody(post: Post) -> None:
    """A position outside the batch cannot be believed; the message is found by itself."""
    post.honcho.faults.fail(HonchoRejected("no", status=422, refused={9: "x"}))
    post.put("one")

    assert 0 == post.deliver()
    assert ["no"] == [row.reason for row in post.outbox.refused(SERVER)]


def test_a_lane_that_was_taken_over_is_left_alone(post: Post) -> None:
    """Whoever slept through its lease sends nothing any more."""

    def oversleep(workspace: str, session: str, keys: Sequence[str], **options: object) -> object:
        post.clock.advance(RULES.lease)
        claimed = post.outbox.claim(
            SERVER, holder="other", now=post.clock.time(), lease=99, limit=9, max_bytes=9
        )
        assert claimed is not None
        return real(workspace, session, keys, **options)  # type: ignore[arg-type]

    real = post.honcho.find_messages
    post.honcho.find_messages = oversleep  # type: ignore[assignment]
    post.put("one", doubtful=True)

    assert 0 == post.courier.deliver_next()
    assert [] == post.stored
    assert Tally(waiting=1) == post.tally


def test_rows_for_another_server_wait(post: Post) -> None:
    """Messages that were accepted for another address are not sent to this one."""
    post.put("elsewhere", lane=Lane("http://other", "ws", "s"))

    assert 0 == post.deliver()
    assert Tally(elsewhere=1) == post.tally


@pytest.mark.parametrize("observed", [True, False])
def test_the_assistants_configuration_is_sent_once_per_workspace(
    honcho: InMemoryHoncho,
    requests: Requests,
    state: ServerState,
    clock: ManualClock,
    observed: bool,
) -> None:
    """Only a wish that differs from Honcho's default costs a request."""
    rules = CourierRules(SERVER, 10, "deerflow", assistant_observed=observed)
    post = Post(honcho, requests, state, clock, rules)
    for number in range(3):
        post.put(f"{number}")
        post.deliver()

    assert int(not observed) == post.operations.count("configure_peer")
    assert (None if observed else False) is honcho.observes("ws", "deerflow")


def test_a_refused_configuration_does_not_stop_delivery(
    honcho: InMemoryHoncho, requests: Requests, state: ServerState, clock: ManualClock
) -> None:
    """What users say is worth more than what Honcho concludes about the assistant."""
    post = Post(honcho, requests, state, clock, CourierRules(SERVER, 10, "deerflow"))
    honcho.faults.fail(HonchoRejected("no", status=422), operation="configure_peer")
    post.put("one")

    assert 1 == post.deliver()


def test_a_broken_outbox_is_the_callers_to_hear_of(post: Post) -> None:
    """What cannot be read cannot be delivered."""
    post.outbox.close()

    with pytest.raises(OutboxUnavailable):
        post.courier.deliver_next()


def test_a_thread_that_slept_is_not_overtaken_by_another(
    sleepy_post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that goes on after its lease may be about to send what it would send again."""
    post = sleepy_post
    post.put("one")
    add_messages = post.honcho.add_messages
    overtaking: list[int | None] = []

    def sleeping(
        workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        post.clock.advance(RULES.lease + 1)
        overtaking.append(post.courier.deliver_next())
        add_messages(workspace, session, messages, timeout=timeout)

    monkeypatch.setattr(post.honcho, "add_messages", sleeping)
    post.deliver()
    monkeypatch.undo()
    post.clock.advance(RULES.lease)
    post.deliver()

    assert [0] == overtaking
    assert ["one"] == post.stored


def test_a_loss_that_is_noticed_late_is_waited_for_from_then_on(
    sleepy_post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that was to send may have slept as long, and go on just now."""
    post = sleepy_post
    post.put("one")

    def sleeping(*_args: object, **_options: object) -> None:
        post.clock.advance(RULES.lease + 1)
        raise HonchoUnavailable("no answer", outcome_unknown=True)

    monkeypatch.setattr(post.honcho, "add_messages", sleeping)
    post.deliver()
    monkeypatch.undo()
    post.clock.advance(RULES.lease - 1)
    assert 0 == post.deliver()
    post.clock.advance(1)

    assert 1 == post.deliver()
    assert ["one"] == post.stored
