"""Selecting what is new of a thread, and what casts doubt on it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from honcho_memory.adapters.in_memory import InMemoryOutbox, ManualClock
from honcho_memory.application.remembering import Accepted, Remembering, RememberingRules
from honcho_memory.domain.errors import OutboxFull
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.messages import Message, Role
from honcho_memory.domain.transcript import LengthLimit, Overflow, message_key
from honcho_memory.ports.outbox import Draft, Lane

ADA = User("ws", "ada")
SERVER = "http://honcho"


class Watched(InMemoryOutbox):
    """An outbox that tells what was put into it and how many keys were looked up."""

    def __init__(self, **limits: int) -> None:
        super().__init__(**limits)
        self.put_last: list[Draft] = []
        self.looked_up = 0

    def known(self, lane: Lane, keys: Collection[str]) -> set[str]:
        """Count, and look up."""
        self.looked_up += len(keys)
        return super().known(lane, keys)

    def put(self, lane: Lane, drafts: Sequence[Draft], *, now: float) -> int:
        """Note, and put."""
        self.put_last = list(drafts)
        return super().put(lane, drafts, now=now)


class Host:
    """Hands threads over, and looks at what comes of it."""

    def __init__(self, clock: ManualClock, **rules: Any) -> None:
        self.outbox = Watched()
        rules = {"limit": LengthLimit(), **rules}
        self.remembering = Remembering(
            RememberingRules(server=SERVER, identities=Identities(), **rules),
            MessageReader(),
            clock,
            new_id=lambda: "made-up",
        )

    def hand_over(self, *messages: object, thread: str = "t", **context: str | None) -> Accepted:
        """Hand over a thread."""
        return self.remembering.accept(self.outbox, thread, messages, ADA, context=context)

    @property
    def drafts(self) -> list[tuple[str, bool]]:
        """The last drafts: text, and whether it is doubtful."""
        return [(draft.message.content, draft.doubtful) for draft in self.outbox.put_last]


def user(text: str, host_id: str | None = None, said_at: datetime | None = None) -> Message:
    """What the user said, known by its text unless told otherwise."""
    return Message(Role.USER, text, id=host_id or text, said_at=said_at)


def assistant(text: str) -> Message:
    """What the assistant answered."""
    return Message(Role.ASSISTANT, text, id=text)


@pytest.fixture
def host(clock: ManualClock) -> Host:
    """A host with the default rules."""
    return Host(clock)


def test_a_new_thread_is_in_doubt(host: Host) -> None:
    """It may be new only to this disk."""
    host.hand_over(user("q1"), assistant("a1"))

    assert [("q1", True), ("a1", True)] == host.drafts


def test_the_next_turn_is_not(host: Host) -> None:
    """Behind a known message, one turn is simply sent."""
    host.hand_over(user("q1"), assistant("a1"))
    host.hand_over(user("q1"), assistant("a1"), user("q2"), assistant("a2"))

    assert [("q2", False), ("a2", False)] == host.drafts


def test_several_turns_at_once_are_in_doubt(host: Host) -> None:
    """Somebody else may have taken the earlier ones."""
    host.hand_over(user("q1"))
    host.hand_over(user("q1"), user("q2"), assistant("a2"), user("q3"))

    assert [("q2", True), ("a2", True), ("q3", True)] == host.drafts


def test_what_is_known_is_not_taken_again(host: Host) -> None:
    """Handing a thread over again takes nothing."""
    thread = (user("q1"), assistant("a1"))
    assert 2 == host.hand_over(*thread).count

    assert 0 == host.hand_over(*thread).count


def test_a_message_without_an_id_is_new_by_definition(host: Host) -> None:
    """It gets an id at acceptance; asking for that would make no sense."""
    host.hand_over({"role": "user", "content": "hi"})

    assert [("hi", False)] == host.drafts
    assert ["made-up"] == [draft.message.key for draft in host.outbox.put_last]


def test_the_look_back_ends_at_the_newest_known_message(host: Host) -> None:
    """A turn in a thread of two thousand messages costs what it costs in a short one."""
    long = [user(f"q{number}") for number in range(2_000)]
    host.hand_over(*long)
    host.outbox.looked_up = 0

    host.hand_over(*long, user("new"))

    assert host.outbox.looked_up <= 16


def test_the_look_back_goes_as_far_as_it_must(host: Host) -> None:
    """A hundred tool results between two turns do not hide the earlier one."""
    host.hand_over(user("q1"))
    tools = [{"type": "ai", "id": f"c{n}", "tool_calls": [1]} for n in range(100)]

    host.hand_over(user("q1"), *tools, assistant("a1"))

    assert ["a1"] == [text for text, _ in host.drafts]


def test_the_texts_of_older_turns_may_recognise_them(host: Host) -> None:
    """Another program may have stored them without ids; the newest turn was said just now."""
    host.hand_over(user("q1"), assistant("a1"), user("q2"), assistant("a2"))

    assert [True, True, False, False] == [
        draft.builtin_digest is not None for draft in host.outbox.put_last
    ]


def test_without_backfill_a_new_thread_begins_with_its_latest_turn(clock: ManualClock) -> None:
    """What was said before is left alone, now and later."""
    host = Host(clock, backfill=False)

    host.hand_over(user("q1"), assistant("a1"), user("q2"), assistant("a2"))
    assert ["q2", "a2"] == [text for text, _ in host.drafts]

    host.hand_over(user("q1"), assistant("a1"), user("q2"), assistant("a2"), user("q3"))
    assert ["q3"] == [text for text, _ in host.drafts]


def test_nothing_to_remember_is_nothing_put(host: Host) -> None:
    """A transcript of system messages leaves the outbox alone."""
    assert Accepted(Lane(SERVER, "ws", Identities().session("t"))) == host.hand_over(
        {"role": "system", "content": "hi"}, 7, None
    )
    assert [] == host.outbox.put_last


def test_metadata_says_where_a_message_comes_from(host: Host) -> None:
    """Thread, agent and trace are kept where they are known, made storable."""
    host.hand_over(user("q"), agent_name="chat\0\ud83d", trace_id=None)

    (draft,) = host.outbox.put_last
    assert {"host_message_id": "q", "thread_id": "t", "agent_name": "chat\ufffd"} == (
        draft.message.metadata
    )


def test_author_and_time_are_fixed_at_acceptance(host: Host, clock: ManualClock) -> None:
    """The user's peer and time, the assistant's peer and now."""
    now = datetime.fromtimestamp(clock.time(), UTC)
    earlier = now - timedelta(hours=1)
    host.hand_over(user("q", said_at=earlier), assistant("a"))

    assert [("ada", earlier), ("deerflow", now)] == [
        (draft.message.author, draft.message.created_at) for draft in host.outbox.put_last
    ]


def test_pieces_are_messages_of_their_own(clock: ManualClock) -> None:
    """Each piece has a key and says which it is; handed over again they are known."""
    host = Host(clock, limit=LengthLimit(2, Overflow.SPLIT))
    host.hand_over(user("abcde", host_id="m1"))

    first, second, third = (draft.message for draft in host.outbox.put_last)
    assert ("m1", "ab", 1, 3) == (
        first.key,
        first.content,
        first.metadata["piece"],
        first.metadata["pieces"],
    )
    assert 3 == len({first.key, second.key, third.key})
    assert 0 == host.hand_over(user("abcde", host_id="m1")).count


def test_threads_do_not_know_each_other(host: Host) -> None:
    """The same id in another thread is another message."""
    host.hand_over(user("q1"), thread="one")

    assert 1 == host.hand_over(user("q1"), thread="two").count


def test_a_full_outbox_takes_nothing_of_a_turn(clock: ManualClock) -> None:
    """All of a turn or nothing; when there is room again the thread brings it along."""
    host = Host(clock)
    host.outbox = Watched(max_messages=1)

    with pytest.raises(OutboxFull):
        host.hand_over(user("q1"), assistant("a1"))

    assert set() == host.outbox.known(
        Lane(SERVER, "ws", Identities().session("t")), [message_key("q1")]
    )
