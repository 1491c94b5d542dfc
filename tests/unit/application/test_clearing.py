"""Clearing a memory, on a Honcho in memory that deletes when it is told to."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from delivery_world import RULES, SERVER, MemoryStorage, Process

from honcho_memory import open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.domain.errors import HonchoNotFound, HonchoUnavailable, OutboxUnavailable
from honcho_memory.domain.facts import LEDGER_KEY, Ledger
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.messages import Message, Role
from honcho_memory.domain.results import Cleared
from honcho_memory.ports.outbox import Lane, Tally

ADA, BOB = User("shared", "ada"), User("shared", "bob")
SESSION = Identities().session("t")
LANE = Lane(SERVER, "shared", SESSION)


class Machine(Process):
    """A machine with one process; nothing is delivered but by the test."""

    def __init__(
        self, honcho: InMemoryHoncho, clock: ManualClock, storage: MemoryStorage | None = None
    ) -> None:
        super().__init__(storage or MemoryStorage(), honcho, clock)
        self.honcho = honcho
        self.clock = clock

    def say(self, *texts: str, thread: str = "t", user: User = ADA, is_dated: bool = True) -> None:
        """Hand over what a user says now, a second before the next thing happens."""
        now = datetime.fromtimestamp(self.clock.time(), UTC) if is_dated else None
        messages = [Message(Role.USER, text, text, said_at=now) for text in texts]
        self.remember(thread, messages, user)  # type: ignore[arg-type]
        self.clock.advance(1)

    def deliver_all(self) -> None:
        """Deliver all that can be delivered now."""
        while self.deliver() is not None:
            pass

    def texts(self, thread: str = "t") -> list[str]:
        """What Honcho holds of a thread."""
        messages = self.honcho.messages("shared", Identities().session(thread))
        return [message.content for message in messages]


@pytest.fixture
def machine(honcho: InMemoryHoncho, clock: ManualClock) -> Machine:
    """The first one."""
    return Machine(honcho, clock)


def test_all_that_honcho_holds_goes(machine: Machine, honcho: InMemoryHoncho) -> None:
    """Sessions, conclusions whoever drew them, the card, and what facts have beyond them."""
    machine.say("one")
    machine.say("two", thread="u")
    machine.deliver_all()
    honcho.add_conclusion("shared", "ada", "Likes tea.")
    honcho.add_conclusion("shared", "ada", "Is watched.", observer="bob")
    honcho.set_card("shared", "ada", ["Name: Ada"])
    entry = {"facts": {"x": {"conclusion": "y"}}}
    honcho.put_peer_metadata("shared", "ada", {"theirs": 1, LEDGER_KEY: entry}, timeout=1)

    cleared = machine.clear(ADA)
    honcho.finish_deletions()

    assert ((SESSION, Identities().session("u")), ()) == (cleared.sessions, cleared.kept_sessions)
    assert () == honcho.sessions("shared")
    assert () == honcho.conclusions("shared")
    assert () == honcho.card("shared", "ada")
    metadata = honcho.metadata("shared", "ada")
    assert metadata is not None
    assert 1 == metadata["theirs"]
    assert {} == Ledger.of(metadata).entries


def test_clearing_is_idempotent(machine: Machine, honcho: InMemoryHoncho) -> None:
    """Again while Honcho still deletes, and again when nothing is left."""
    machine.say("one")
    machine.deliver_all()

    for _ in range(2):
        assert (SESSION,) == machine.clear(ADA).sessions
    honcho.finish_deletions()
    assert Cleared() == machine.clear(ADA)


def test_what_waits_goes_too(machine: Machine) -> None:
    """And is not taken again with the old thread."""
    machine.say("one")
    machine.clear(ADA)
    machine.say("one")
    machine.deliver_all()

    assert [] == machine.texts()
    assert Tally() == machine.outbox.tally(SERVER)


def test_what_is_said_from_now_on_is_remembered(machine: Machine, honcho: InMemoryHoncho) -> None:
    """Also while Honcho still deletes: it waits until that is done."""
    machine.say("one")
    machine.deliver_all()
    machine.clear(ADA)
    machine.clock.advance(1)
    machine.say("one", "two")
    machine.deliver_all()
    assert 1 == machine.outbox.tally(SERVER).waiting

    honcho.finish_deletions()
    machine.clock.advance(600)
    machine.deliver_all()

    assert ["two"] == machine.texts()


@pytest.mark.parametrize("is_dated", [True, False])
def test_the_old_thread_does_not_come_back_from_another_machine(
    machine: Machine, honcho: InMemoryHoncho, clock: ManualClock, *, is_dated: bool
) -> None:
    """It asks Honcho, which knows when the memory was cleared; of old words without a time too."""
    machine.say("one", "two", is_dated=is_dated)
    machine.deliver_all()
    machine.clear(ADA)
    honcho.finish_deletions()
    clock.advance(60)

    other = Machine(honcho, clock)
    now = datetime.fromtimestamp(clock.time(), UTC)
    then = datetime(2026, 1, 1, tzinfo=UTC) if is_dated else None
    old = [Message(Role.USER, text, text, said_at=then) for text in ("one", "two")]
    new = Message(Role.USER, "three", "three", said_at=now if is_dated else None)
    other.remember("t", [*old, new], ADA)  # type: ignore[list-item]
    other.deliver_all()

    assert ["three"] == other.texts()


def test_what_came_in_one_breath_is_no_turn_of_this_moment(
    machine: Machine, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """A host may give many turns one time; another machine may have cleared all of them."""
    said_at = datetime.fromtimestamp(clock.time(), UTC)
    old = [Message(Role.USER, f"{n}", f"{n}", said_at=said_at) for n in range(120)]
    machine.remember("t", old, ADA)  # type: ignore[arg-type]
    machine.deliver_all()
    clock.advance(1)
    machine.clear(ADA)
    honcho.finish_deletions()
    clock.advance(1)

    other = Machine(honcho, clock)
    new = Message(Role.USER, "new", "new", said_at=datetime.fromtimestamp(clock.time(), UTC))
    other.remember("t", [*old, new], ADA)  # type: ignore[list-item]
    other.deliver_all()

    assert ["new"] == other.texts()


def test_an_answer_goes_with_its_question(machine: Machine, clock: ManualClock) -> None:
    """An agent may answer after the clearing what was asked before it."""
    asked_at = datetime.fromtimestamp(clock.time(), UTC)
    question = Message(Role.USER, "question", "q", said_at=asked_at)
    answer = Message(Role.ASSISTANT, "answer", "a")
    machine.remember("t", [question], ADA)  # type: ignore[list-item]
    clock.advance(1)
    machine.clear(ADA)
    clock.advance(1)

    machine.remember("t", [question, answer], ADA)  # type: ignore[list-item]
    machine.deliver_all()

    assert [] == machine.texts()


@pytest.mark.parametrize("moment", [1_796_083_202.139_999_9, 1_796_083_202.140_000_3])
def test_what_is_said_in_the_very_moment_goes(machine: Machine, moment: float) -> None:
    """Messages have their times in whole microseconds, which may be after the clock's."""
    machine.clock.jump(moment - machine.clock.time())
    said_at = datetime.fromtimestamp(moment, UTC)
    message = Message(Role.USER, "now", "now", said_at=said_at)
    machine.remember("t", [message], ADA)  # type: ignore[list-item]
    machine.clear(ADA)

    machine.deliver_all()

    assert machine.texts() == []


def test_other_users_lose_nothing(machine: Machine, honcho: InMemoryHoncho) -> None:
    """Neither what Honcho holds nor what waits, in a workspace that is shared on purpose."""
    machine.say("ada's")
    machine.say("bob's", thread="u", user=BOB)
    machine.deliver_all()
    machine.say("bob's next", thread="u", user=BOB)
    honcho.add_conclusion("shared", "bob", "Likes beer.")
    honcho.set_card("shared", "bob", ["Name: Bob"])

    machine.clear(ADA)
    honcho.finish_deletions()
    machine.deliver_all()

    assert [] == machine.texts()
    assert ["bob's", "bob's next"] == machine.texts("u")
    assert "Likes beer." in [each.content for each in honcho.conclusions("shared")]
    assert ("Name: Bob",) == honcho.card("shared", "bob")


def test_a_session_with_other_people_is_kept_and_named(
    machine: Machine, honcho: InMemoryHoncho
) -> None:
    """Honcho cannot delete a message; what waits of it goes all the same."""
    machine.say("ada's")
    machine.say("bob's", user=BOB)
    machine.deliver_all()
    machine.say("ada's next")

    cleared = machine.clear(ADA)
    honcho.finish_deletions()
    machine.deliver_all()

    assert ((), (SESSION,)) == (cleared.sessions, cleared.kept_sessions)
    assert ["ada's", "bob's"] == machine.texts()


def test_somebody_whose_message_is_on_its_way_loses_nothing(honcho: InMemoryHoncho) -> None:
    """Whether a session is shared is looked at when nobody delivers to it any more."""
    places = {"workspace_overrides": {"ada": "team", "bob": "team"}}
    with open_memory(places, honcho=honcho) as memory, ThreadPoolExecutor(1) as pool:
        said = {"role": "user", "content": "Ada's."}
        memory.remember("t", [{**said, "id": "1"}], user_id="ada")
        assert memory.flush(30)
        on_its_way = honcho.faults.hold(operation="add_messages")
        memory.remember("t", [{**said, "id": "2", "content": "Bob's."}], user_id="bob")
        on_its_way.wait_until_hit()
        clearing = pool.submit(memory.clear, "ada")
        wait_until_asked(honcho, "peer_sessions")
        on_its_way.release()

        cleared = clearing.result()

        assert memory.flush(30)
        (session,) = cleared.kept_sessions
        assert "Bob's." in [each.content for each in honcho.messages("team", session)]


def test_conclusions_that_honcho_deletes_meanwhile_hide_no_others(
    honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """What is on a later page moves up while an earlier one is read."""
    with open_memory(honcho=honcho, clock=clock) as memory:
        memory.import_document({"facts": [{"content": f"{n}"} for n in range(250)]}, user_id="ada")
        list_conclusions, delete = honcho.list_conclusions, honcho.delete_conclusion

        def deleting_beside(*args: Any, **more: Any) -> Any:
            page = list_conclusions(*args, **more)
            for conclusion in page.items[:30] if page.has_more else ():
                delete(args[0], conclusion.id, timeout=1)
            return page

        honcho.list_conclusions = deleting_beside  # type: ignore[method-assign]
        memory.clear("ada")
        honcho.list_conclusions = list_conclusions  # type: ignore[method-assign]

        assert () == memory.facts("ada")


def test_conclusions_that_do_not_end_end_the_clearing(
    honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """Whoever clears is told that some are left."""
    with open_memory(honcho=honcho, clock=clock) as memory:
        memory.add_fact("Likes tea.", user_id="ada")
        honcho.delete_conclusion = lambda *_, **__: None  # type: ignore[method-assign]

        with pytest.raises(HonchoUnavailable, match="clear again"):
            memory.clear("ada")


def test_what_waits_for_another_server_goes_too(honcho: InMemoryHoncho, tmp_path: Path) -> None:
    """An address that is restored later must not deliver what was cleared."""
    said = [{"role": "user", "content": "My secret.", "id": "1"}]
    place = {"storage_path": str(tmp_path)}
    down = honcho.faults.fail(HonchoUnavailable("down", status=503), times=None)
    with open_memory({**place, "base_url": "http://old"}, honcho=honcho) as memory:
        memory.remember("t", said, user_id="ada")
    down.stop()
    with open_memory({**place, "base_url": "http://new"}, honcho=honcho) as memory:
        memory.clear("ada")

    with open_memory({**place, "base_url": "http://old"}, honcho=honcho) as memory:
        memory.remember("t", said, user_id="ada")
        assert memory.flush(30)
        assert () == memory.facts("ada")


def wait_until_asked(honcho: InMemoryHoncho, operation: str) -> None:
    """Wait until Honcho was asked for something."""
    while operation not in {request.operation for request in honcho.requests}:
        threading.Event().wait(0.002)


def test_a_first_message_on_its_way_is_deleted_too(machine: Machine, clock: ManualClock) -> None:
    """A session that Honcho does not list yet is waited for: its request may be out."""
    machine.say("one")
    claim = machine.outbox.claim(
        SERVER, holder="gone", now=clock.time(), lease=RULES.lease, limit=1, max_bytes=99
    )
    assert claim is not None
    started = clock.time()

    assert (SESSION,) == machine.clear(ADA).sessions
    assert clock.time() - started >= RULES.lease - 1


def test_a_session_that_never_comes_free_is_not_waited_for(
    machine: Machine, clock: ManualClock
) -> None:
    """Somebody who renews for ever must not hang whoever clears."""
    machine.say("one")
    machine.outbox.hold(LANE, holder="other", now=clock.time(), lease=1e6)

    with pytest.raises(HonchoUnavailable, match="still being delivered to"):
        machine.clear(ADA)


def test_a_clearing_that_takes_too_long_stops(
    machine: Machine, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """It could delete what was delivered meanwhile. Clearing again goes on."""
    for thread in "tuv":
        machine.say(f"one of {thread}", thread=thread)
    machine.deliver_all()

    def delete(workspace: str, session: str, *, timeout: float = 1.0) -> None:
        InMemoryHoncho.delete_session(honcho, workspace, session, timeout=timeout)
        clock.advance(RULES.lease + 1)
        machine.outbox.hold(LANE, holder="other", now=clock.time(), lease=RULES.lease)

    honcho.delete_session = delete  # type: ignore[method-assign]
    with pytest.raises(HonchoUnavailable, match="clear again"):
        machine.clear(ADA)
    del honcho.delete_session
    clock.advance(RULES.lease + 1)

    assert 3 == len(machine.clear(ADA).sessions)


def test_long_clearings_keep_their_sessions(
    machine: Machine, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """What is said meanwhile is delivered to none of them."""
    for thread in "tuvw":
        machine.say(f"one of {thread}", thread=thread)
    machine.deliver_all()

    def delete(workspace: str, session: str, *, timeout: float = 1.0) -> None:
        InMemoryHoncho.delete_session(honcho, workspace, session, timeout=timeout)
        clock.advance(RULES.lease / 2)
        machine.say("meanwhile", thread="w")
        assert machine.deliver() is None

    honcho.delete_session = delete  # type: ignore[method-assign]
    machine.clear(ADA)
    honcho.finish_deletions()
    clock.advance(600)
    machine.deliver_all()

    assert ["meanwhile"] == machine.texts("w")


def test_nothing_changes_when_honcho_cannot_be_reached(
    machine: Machine, honcho: InMemoryHoncho
) -> None:
    """Whoever clears is told, and may try again."""
    machine.say("one")
    machine.deliver_all()
    machine.say("two")
    honcho.faults.fail(HonchoUnavailable("down", status=500), operation="peer_sessions")

    with pytest.raises(HonchoUnavailable):
        machine.clear(ADA)
    machine.deliver_all()

    assert ["one", "two"] == machine.texts()


@pytest.mark.parametrize("step", ["session_peers", "delete_session"])
def test_what_was_cleared_half_way_does_not_come_back(
    machine: Machine, honcho: InMemoryHoncho, step: Any
) -> None:
    """Its outbox is emptied first; clearing again finishes."""
    machine.say("one")
    machine.deliver_all()
    machine.say("two")
    honcho.faults.fail(HonchoUnavailable("down", status=500), operation=step)

    with pytest.raises(HonchoUnavailable):
        machine.clear(ADA)
    machine.deliver_all()
    assert ["one"] == machine.texts()

    machine.clear(ADA)
    honcho.finish_deletions()
    assert [] == machine.texts()


def test_an_outbox_that_fails_fails_the_clearing(machine: Machine) -> None:
    """What waits there would come back."""
    machine.outbox.close()

    with pytest.raises(OutboxUnavailable):
        machine.clear(ADA)


def test_a_session_that_is_being_deleted_may_be_nobodys(
    machine: Machine, honcho: InMemoryHoncho
) -> None:
    """Honcho may say that it does not know it; then nobody else is in it."""
    machine.say("one")
    machine.deliver_all()
    honcho.delete_session("shared", SESSION)
    honcho.faults.fail(HonchoNotFound("Session not found"), operation="session_peers")

    assert (SESSION,) == machine.clear(ADA).sessions


def asked_when_cleared(honcho: InMemoryHoncho) -> int:
    """How often Honcho was asked when a memory was cleared."""
    return [request.operation for request in honcho.requests].count("peer_metadata")


def test_a_new_thread_is_not_asked_about_twice(machine: Machine, honcho: InMemoryHoncho) -> None:
    """A turn of this moment cannot have been cleared by another machine."""
    machine.say("one")
    machine.deliver_all()

    assert 0 == asked_when_cleared(honcho)


def test_honcho_is_asked_once_for_all_sessions_of_a_user(
    machine: Machine, honcho: InMemoryHoncho, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backlog of many old sessions costs a question now and then."""
    monkeypatch.setattr("honcho_memory.application.equipment._MOST_MEMORIES", 1)

    def deliver_old_threads(user: User) -> int:
        honcho.forget_requests()
        now = clock.time()
        for _ in range(5):
            machine.say("old", thread=f"{clock.time()}", user=user)
        clock.advance(60)
        machine.deliver_all()
        assert clock.time() > now
        return asked_when_cleared(honcho)

    assert [1, 1, 1] == [deliver_old_threads(user) for user in (ADA, BOB, ADA)]
