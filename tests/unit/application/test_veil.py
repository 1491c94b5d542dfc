"""A memory is empty from the moment that it is cleared, whatever Honcho still tells."""

from __future__ import annotations

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.application.clear_marks import LONGEST_DELETION, ClearMarks
from honcho_memory.application.veil import VeiledReads
from honcho_memory.domain.identity import User
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Lane

ADA = User("ws", "ada")
SERVER = "http://honcho"


@pytest.fixture
def outbox() -> InMemoryOutbox:
    """Where marks are kept."""
    return InMemoryOutbox()


@pytest.fixture
def marks(outbox: InMemoryOutbox, clock: ManualClock) -> ClearMarks:
    """What was cleared."""
    return ClearMarks(outbox, SERVER, clock)


@pytest.fixture
def reads(honcho: InMemoryHoncho, marks: ClearMarks, clock: ManualClock) -> VeiledReads:
    """Honcho, as recall and search see it."""
    return VeiledReads(honcho, marks, clock)


def say(honcho: InMemoryHoncho, clock: ManualClock, text: str, session: str = "df-t") -> None:
    """Store what Ada says now."""
    clock.advance(1)
    message = Outgoing(text, ADA.peer, text, honcho._now(), {"host_message_id": text})
    honcho.add_messages(ADA.workspace, session, [message], timeout=1)


def told(reads: VeiledReads) -> tuple[bool, bool, bool]:
    """Whether recall, message search and facts say anything."""
    representation = reads.representation("ws", "ada", max_conclusions=9, timeout=1)
    messages = reads.search_messages("ws", "tea", limit=9, timeout=1)
    facts = reads.query_conclusions("ws", "ada", "tea", limit=9, timeout=1)
    return bool(representation), bool(messages), bool(facts)


def clear(honcho: InMemoryHoncho, marks: ClearMarks, clock: ManualClock) -> None:
    """Begin to delete Ada's session."""
    honcho.delete_session("ws", "df-t")
    marks.note_deleting(ADA, ["df-t"], clock.time())


def test_what_is_being_deleted_is_not_told(
    honcho: InMemoryHoncho, marks: ClearMarks, reads: VeiledReads, clock: ManualClock
) -> None:
    """Until Honcho lists it no longer; then nothing is asked any more."""
    say(honcho, clock, "I like tea.")
    assert (True, True, True) == told(reads)
    clear(honcho, marks, clock)
    assert (False, False, False) == told(reads)

    honcho.finish_deletions()
    say(honcho, clock, "I like green tea.", "df-u")
    assert (True, True, True) == told(reads)
    honcho.forget_requests()
    told(reads)
    assert "peer_sessions" not in [request.operation for request in honcho.requests]


def test_a_session_that_was_made_anew_is_told(
    honcho: InMemoryHoncho, marks: ClearMarks, reads: VeiledReads, clock: ManualClock
) -> None:
    """Honcho takes messages in none that it is deleting."""
    say(honcho, clock, "I like tea.")
    clear(honcho, marks, clock)
    honcho.finish_deletions()
    say(honcho, clock, "I like green tea.")
    marks.note_arrival(Lane(SERVER, "ws", "df-t"))

    assert (True, True, True) == told(reads)
    assert {} == marks.deleting("ws", "ada")


def test_a_deletion_is_not_waited_for_for_ever(
    honcho: InMemoryHoncho, marks: ClearMarks, reads: VeiledReads, clock: ManualClock
) -> None:
    """A session that is listed for so long was made anew, by somebody else."""
    say(honcho, clock, "I like tea.")
    clear(honcho, marks, clock)

    clock.advance(LONGEST_DELETION)
    assert (True, True, True) == told(reads)


def test_others_in_the_workspace_are_told(
    honcho: InMemoryHoncho, marks: ClearMarks, reads: VeiledReads, clock: ManualClock
) -> None:
    """What Bob's recall says has nothing to do with what Ada cleared."""
    honcho.add_conclusion("ws", "bob", "likes tea")
    say(honcho, clock, "I like tea.")
    clear(honcho, marks, clock)
    marks.note_deleting(User("ws", "bob"), ["df-v"], clock.time())
    marks.note_deleted("ws", ["df-v"])

    assert reads.representation("ws", "bob", max_conclusions=9, timeout=1)
    assert {"df-t"} == marks.deleting_for_anybody("ws").keys()


def test_without_its_marks_it_says_what_honcho_says(
    honcho: InMemoryHoncho, outbox: InMemoryOutbox, reads: VeiledReads, clock: ManualClock
) -> None:
    """A closed outbox does not cost the recall."""
    say(honcho, clock, "I like tea.")
    outbox.close()

    assert (True, True, True) == told(reads)


def test_a_card_is_told(honcho: InMemoryHoncho, reads: VeiledReads) -> None:
    """It is erased at once."""
    honcho.set_card("ws", "ada", ["Name: Ada"])

    assert ("Name: Ada",) == reads.peer_card("ws", "ada", timeout=1)


def test_marks_tell_when_a_memory_was_cleared(marks: ClearMarks) -> None:
    """To the part of a second."""
    assert 0 == marks.cleared_at("ws", "ada")
    marks.note_cleared(ADA, 12.345678)

    assert 12.345678 == marks.cleared_at("ws", "ada")
