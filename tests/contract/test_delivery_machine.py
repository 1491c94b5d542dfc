"""What was said is what is stored, once and in order, whatever fails on the way.

A state machine lets a host's users talk and everything else go wrong. What was said is kept in
plain lists, by rules of their own, and compared in the end with what Honcho holds.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from delivery_world import (
    NAMED,
    RULES,
    SERVER,
    SETTLE_TIME,
    STUMBLED_OVER,
    UNNAMED,
    DiskStorage,
    Killed,
    MemoryStorage,
    Process,
    Raw,
    Storage,
    World,
)
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from honcho_memory.application.trip import DOUBTFUL_AFTER
from honcho_memory.domain.errors import (
    HonchoProtocolError,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnauthorized,
    HonchoUnavailable,
)
from honcho_memory.domain.identity import Identities

FAILURES: dict[str, HonchoRequestError] = {
    "refused": HonchoUnavailable("connection refused"),
    "busy": HonchoUnavailable("busy", status=429, retry_after=70),
    "gateway": HonchoUnavailable("bad gateway", status=502, outcome_unknown=True),
    "down": HonchoUnavailable("unavailable", status=503, retry_after=3),
    "key": HonchoUnauthorized("Invalid JWT", status=401),
    "html": HonchoProtocolError("HTML", status=200),
    "time-out": HonchoRejected("request time-out", status=408),
    "conflict": HonchoRejected("conflict", status=409),
}
MOST_500S = 5
"""A session that has answered more of them in a row is taken for one that refuses. Then a 500
that has nothing to do with it would be taken for another, so that there is one kind in a life."""
MOST_UNNAMED = 2
"""More of them in a row stop their session, which nothing but a person can mend."""
MOST_THREADS = 4
PATIENCE = 50

PROCESS = st.integers(0, 2)
STEPS = st.integers(1, 25)
WAITS = st.sampled_from([0.0, 1.0, 1.0, RULES.timeout, RULES.lease, 400.0, 400.0])
LOST, LATE, INTERNAL = "answer lost", "answer lost, carried out late", "internal error"
MISHAPS = st.sampled_from(["", LOST, LOST, LATE, LATE, LATE]) | st.sampled_from(
    ["", INTERNAL, *sorted(FAILURES)]
)
AGAIN = st.sampled_from(["regenerate", "summarize", "hand over again"])
USER = Identities().user("ada")
assert USER is not None


@dataclass(eq=False)
class Thread:
    """A conversation as its host holds it, and what was said in it by message id, in order."""

    id: str
    state: list[Raw] = field(default_factory=list[Raw])
    said: dict[str, str] = field(default_factory=dict[str, str])
    gone: set[str] = field(default_factory=set[str])
    cleared: set[str] = field(default_factory=set[str])
    unnamed: int = 0
    machine: Storage | None = None

    @property
    def session(self) -> str:
        """The session id."""
        return Identities().session(self.id)

    def asked_at(self, message: Raw) -> float | None:
        """When the user said a message, or what it answers; None where nobody knows."""
        asked_at = None
        for each in self.state:
            asked_at = each.get("created_at", asked_at)
            if each is message:
                break
        return asked_at

    def last(self, kind: str) -> int:
        """The place of the newest message of a kind; -1 when there is none."""
        return max((n for n, each in enumerate(self.state) if each["type"] == kind), default=-1)


class DeliveryMachine(RuleBasedStateMachine):
    """Two machines, one with two processes on one storage, and a Honcho."""

    threads: Bundle[Thread] = Bundle("threads")

    def make_storages(self) -> list[Storage]:
        """One for each machine."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.storages = self.make_storages()
        self.processes = [self.start(self.storages[n]) for n in (0, 0, 1)]
        self.known_threads: list[Thread] = []
        self.numbers = itertools.count(1)
        self.answered_500 = 0
        self.stumbles = False
        self.was_put_back = False
        self.cleared_at = 0.0
        self.tried_to_clear_at = 0.0

    def start(self, storage: Storage) -> Process:
        """Start a process."""
        return Process(storage, self.world.honcho, self.world.clock, self.world.advance)

    def restart(self, process: Process) -> None:
        """Start a process in the place of one that is gone."""
        self.processes[self.processes.index(process)] = self.start(process.storage)

    # What the host and its users do.

    @initialize(target=threads)
    def first_thread(self) -> Thread:
        return self.new_thread()

    def new_thread(self) -> Thread:
        thread = Thread(f"thread-{next(self.numbers)}")
        self.known_threads.append(thread)
        return thread

    @rule(target=threads, thread=threads, process=PROCESS, keep=st.integers(0, 6))
    @precondition(lambda self: len(self.known_threads) < MOST_THREADS)
    def branch(self, thread: Thread, process: int, keep: int) -> Thread:
        """Begin a thread, with nothing or with the beginning of another."""
        other = self.new_thread()
        other.state = thread.state[:keep]
        other.unnamed = thread.unnamed
        self.take_turns(other, process, 1)
        return other

    @rule(
        thread=threads,
        process=PROCESS,
        turns=st.sampled_from([1, 1, 2, 3, 60]),
        whole=st.booleans(),
        die_after=st.sampled_from([0, 0, 0, *range(1, 6)]),
    )
    def take_turns(
        self,
        thread: Thread,
        process: int,
        turns: int,
        whole: bool = True,
        die_after: int = 0,
    ) -> None:
        begin = 0 if whole else len(thread.state)
        for _ in range(turns):
            self.say(thread, "human")
            self.say(thread, "ai")
        self.hand_over(thread, process, begin=begin, die_after=die_after)

    @rule(
        thread=threads,
        process=PROCESS,
        how=st.lists(st.sampled_from(["", NAMED, UNNAMED, STUMBLED_OVER]), min_size=1, max_size=6),
    )
    def say_what_honcho_cannot_take(self, thread: Thread, process: int, how: list[str]) -> None:
        for kind in how:
            if kind in {UNNAMED, STUMBLED_OVER}:
                thread.unnamed += 1
            is_allowed = kind in {"", NAMED} or thread.unnamed <= MOST_UNNAMED
            if kind == STUMBLED_OVER:
                is_allowed = is_allowed and not self.answered_500
                self.stumbles = self.stumbles or is_allowed
            self.say(thread, "human", kind if is_allowed else "")
        self.hand_over(thread, process)

    @rule(thread=threads, process=PROCESS, turns=st.integers(0, 3))
    def edit(self, thread: Thread, process: int, turns: int) -> None:
        """Go back some turns and say something else."""
        begin = len(thread.state) - 2 * turns
        del thread.state[max(0, begin) :]
        self.take_turns(thread, process, 1)

    @rule(thread=threads, process=PROCESS, keep=st.integers(1, 6), what=AGAIN)
    def take_again(self, thread: Thread, process: int, keep: int, what: str) -> None:
        """Something by which a machine is handed what it has seen before, or has missed.

        What it has missed it can tell from a new turn by the time at which it was said.
        """
        storage = self.processes[process].storage
        if thread.machine not in {None, storage}:
            if self.was_put_back:
                return
            self.world.advance(DOUBTFUL_AFTER)
        if not self.may_take(storage):
            return
        if what == "regenerate":
            del thread.state[thread.last("human") + 1 :]
            self.say(thread, "ai")
        if what == "summarize":
            self.hand_over(thread, process, end=-keep)
            summary = {"type": "human", "name": "summary", "id": f"{next(self.numbers)}"}
            thread.state = [{**summary, "content": "so far"}, *thread.state[-keep:]]
        self.hand_over(thread, process)

    @rule(thread=threads, process=PROCESS, turns=st.integers(1, 2), what=AGAIN)
    def miss_turns(self, thread: Thread, process: int, turns: int, what: str) -> None:
        """Another machine takes some turns, and delivers them, before one has the thread again."""
        self.deliver_what_is_due()
        self.take_turns(thread, 2 if process < 2 else 0, turns)
        self.deliver_what_is_due()
        self.take_again(thread, process, 2, what)

    def deliver_what_is_due(self) -> None:
        """Deliver for some minutes."""
        for _ in range(4):
            for process in self.processes:
                while process.deliver() is not None:
                    pass
            self.world.advance(60)

    def say(self, thread: Thread, kind: str, how: str = "") -> None:
        """Add a message; as with DeerFlow, only the user's own have a time."""
        number = next(self.numbers)
        text = f"{number} {how}".strip()
        message: dict[str, object] = {"type": kind, "id": f"m{number}", "content": text}
        if kind == "human":
            message["created_at"] = self.world.clock.time()
        thread.state.append(message)

    def hand_over(
        self,
        thread: Thread,
        number: int,
        *,
        begin: int = 0,
        end: int | None = None,
        die_after: int = 0,
    ) -> None:
        """Hand over a part of a thread, and once more where the process dies meanwhile.

        Args:
            thread: The thread.
            number: To which process, if its machine may take something now.
            begin: Of the part.
            end: Of the part.
            die_after: So many steps of the process.
        """
        process = self.processes[number]
        if not self.may_take(process.storage):
            process = next(each for each in self.processes if self.may_take(each.storage))
        part = thread.state[begin:end]
        assert USER is not None
        if die_after:
            process.fate.kill(die_after)
        try:
            process.remember(thread.id, part, USER)
        except Killed:
            self.restart(process)
            self.hand_over(thread, number, begin=begin, end=end)
            return
        process.fate.spare()
        thread.machine = process.storage
        for message in part:
            if message.get("name") != "summary":
                self.expect(thread, message)

    def expect(self, thread: Thread, message: Raw) -> None:
        """A message was handed over."""
        key, asked_at = message["id"], thread.asked_at(message)
        thread.said.setdefault(key, message["content"])
        if asked_at is None:
            # Whether it was said before or after is anybody's guess.
            thread.cleared.discard(key)
        elif asked_at <= self.cleared_at:
            thread.cleared.add(key)
        if self.tried_to_clear_at and self.tried_to_clear_at >= (asked_at or 0.0):
            thread.gone.add(key)

    def may_take(self, storage: Storage) -> bool:
        """Whether no other machine holds something undelivered, which it could not know of."""
        return not any(
            each.outbox.tally(SERVER).waiting
            for each in self.processes
            if each.storage is not storage
        )

    # What the processes do, and what goes wrong meanwhile.

    @rule(thread=threads, process=PROCESS, wait=WAITS, mishap=MISHAPS, times=st.integers(1, 4))
    def deliver(self, thread: Thread, process: int, wait: float, mishap: str, times: int) -> None:
        self.begin(thread, process, wait, mishap)
        for _ in range(times):
            self.processes[process].deliver()

    @rule(thread=threads, process=PROCESS, wait=WAITS, mishap=MISHAPS, steps=STEPS)
    def die_while_delivering(
        self, thread: Thread, process: int, wait: float, mishap: str, steps: int
    ) -> None:
        self.begin(thread, process, wait, mishap)
        dying = self.processes[process]
        dying.fate.kill(steps)
        try:
            dying.deliver()
        except Killed:
            self.restart(dying)
        dying.fate.spare()

    @rule(
        thread=threads,
        process=st.integers(0, 1),
        wait=WAITS,
        mishap=MISHAPS,
        steps=STEPS,
        sleep=WAITS,
        times=st.integers(1, 3),
    )
    def deliver_in_between(
        self,
        *,
        thread: Thread,
        process: int,
        wait: float,
        mishap: str,
        steps: int,
        sleep: float,
        times: int,
    ) -> None:
        """One process sleeps between two steps, and the other of its machine goes on."""
        self.begin(thread, process, wait, mishap)
        first, second = self.processes[process], self.processes[1 - process]

        def meanwhile(place: str) -> None:
            # Between its last look at the clock and its request nobody may sleep too long.
            is_sending = place == "before add_messages"
            self.world.advance(min(sleep, RULES.timeout) if is_sending else sleep)
            for _ in range(times):
                second.deliver()

        first.fate.interrupt(steps, meanwhile)
        first.deliver()
        first.fate.spare()

    def begin(self, thread: Thread, process: int, wait: float, mishap: str) -> None:
        """Let time pass, something wait, and the next write meet with a mishap."""
        self.world.advance(wait)
        self.take_turns(thread, process, 1)
        faults = self.world.honcho.faults
        if mishap == LOST:
            faults.lose_answer(operation="add_messages")
        elif mishap == LATE:
            self.world.carry_out_later()
        elif mishap == INTERNAL:
            if not self.stumbles and self.answered_500 < MOST_500S:
                self.answered_500 += 1
                error = HonchoUnavailable("unexpected", status=500)
                faults.fail(error, operation="add_messages")
        elif mishap:
            faults.fail(FAILURES[mishap], operation="add_messages")

    @rule(
        process=PROCESS,
        what=st.sampled_from(["restart", "tidy", "retry what was set aside"]),
    )
    def look_after(self, process: int, what: str) -> None:
        chosen = self.processes[process]
        if what == "restart":
            self.restart(chosen)
        if what == "tidy":
            chosen.outbox.tidy(now=self.world.clock.time())
        if what == "retry what was set aside" and self.may_take(chosen.storage):
            numbers = [refused.number for refused in chosen.outbox.refused(SERVER)]
            chosen.outbox.retry(numbers, now=self.world.clock.time())

    @rule(
        thread=threads,
        kind=st.sampled_from(sorted(FAILURES)),
        times=st.integers(2, 8),
        seconds=st.sampled_from([-100_000.0, -60.0, 60.0, 100_000.0]),
        what=st.sampled_from(["outage", "recover", "late", "delete", "deleted", "clock"]),
    )
    def befall(self, thread: Thread, kind: str, times: int, seconds: float, what: str) -> None:
        honcho = self.world.honcho
        if what == "outage":
            honcho.faults.fail(FAILURES[kind], times=times)
        if what == "recover":
            honcho.faults.clear()
        if what == "late":
            self.world.release_late_requests()
        if what == "delete":
            self.delete_session(thread)
        if what == "deleted":
            honcho.finish_deletions()
        if what == "clock" and not self.world.expects_late_requests:
            seconds = abs(seconds) if self.tried_to_clear_at else seconds
            self.world.clock.jump(seconds)
            self.was_put_back = self.was_put_back or seconds < 0

    @rule(process=PROCESS, steps=st.sampled_from([0, 0, 0, *range(1, 40)]))
    def clear(self, process: int, steps: int) -> None:
        """The user clears their memory; where that fails, all of it may be gone or not."""
        clearing = self.processes[process]
        if self.was_put_back or not self.may_take(clearing.storage):
            return
        if self.world.expects_late_requests:
            # Another machine's that comes after the clearing is beyond anybody's reach.
            self.world.advance(SETTLE_TIME + 1)
        if steps:
            clearing.fate.kill(steps)
        assert USER is not None
        try:
            clearing.clear(USER)
        except Killed:
            self.restart(clearing)
        except HonchoRequestError:
            pass
        else:
            for thread in self.known_threads:
                thread.cleared |= thread.said.keys()
            self.cleared_at = self.world.clock.time()
        clearing.fate.spare()
        for thread in self.known_threads:
            thread.gone |= thread.said.keys()
        self.tried_to_clear_at = self.world.clock.time()
        self.world.advance(1)

    def delete_session(self, thread: Thread) -> None:
        """Somebody deletes a session: what was said in it may be gone."""
        with contextlib.suppress(HonchoRequestError):
            self.world.honcho.delete_session(workspace(), thread.session, timeout=1)
            stored = set(self.stored(thread))
            thread.gone |= {key for key, text in thread.said.items() if text in stored}

    # What has come of it.

    def stored(self, thread: Thread) -> list[str]:
        """What Honcho holds of a thread."""
        messages = self.world.honcho.messages(workspace(), thread.session)
        return [message.content for message in messages]

    def teardown(self) -> None:
        try:
            self.heal()
            self.say_goodbye()
            self.deliver_everything()
            self.compare()
        finally:
            for storage in self.storages:
                storage.close()

    def heal(self) -> None:
        self.world.honcho.faults.clear()
        self.world.release_late_requests()
        self.world.honcho.finish_deletions()

    def say_goodbye(self) -> None:
        """One good message more: a session of which nothing was accepted has stopped."""
        for thread in self.known_threads:
            self.say(thread, "human")
            self.hand_over(thread, 0)

    def deliver_everything(self) -> None:
        for _ in range(PATIENCE):
            self.deliver_what_is_due()
            waiting = sum(storage.open().tally(SERVER).waiting for storage in self.storages)
            if not waiting:
                return
        raise AssertionError("something waits for ever")

    def compare(self) -> None:
        refused = {
            (row.lane.session, row.message.content)
            for storage in self.storages
            for row in storage.open().refused(SERVER)
        }
        for thread in self.known_threads:
            gone = {thread.said[key] for key in thread.gone}
            stored = self.stored(thread)
            assert len(set(stored)) == len(stored)
            assert not {thread.said[key] for key in thread.cleared}.intersection(stored)
            good = [text for text in thread.said.values() if "(" not in text]
            assert [text for text in good if text not in gone] == [
                text for text in stored if text not in gone
            ]
            bad = {(thread.session, text) for text in thread.said.values() if "(" in text}
            bad = {each for each in bad if each[1] not in gone}
            here = {each for each in refused if each[0] == thread.session}
            assert bad == {each for each in here if each[1] not in gone}


def workspace() -> str:
    assert USER is not None
    return USER.workspace


class OnDisk(DeliveryMachine):
    """With outboxes on disk, which outlive a process."""

    def make_storages(self) -> list[Storage]:
        self.folder = tempfile.TemporaryDirectory()
        return [DiskStorage(Path(self.folder.name) / f"{n}.sqlite3") for n in range(2)]

    def teardown(self) -> None:
        with self.folder:
            super().teardown()


class InMemory(DeliveryMachine):
    """With outboxes in memory, which outlive whoever delivers from them."""

    def make_storages(self) -> list[Storage]:
        return [MemoryStorage(), MemoryStorage()]


def run(machine: type[DeliveryMachine], examples: int) -> None:
    """Let a machine live so many lives."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def test_what_was_said_is_what_is_stored_with_outboxes_on_disk() -> None:
    """Once and in order, whatever fails and whichever process dies."""
    run(OnDisk, settings().max_examples // 4)


def test_what_was_said_is_what_is_stored_with_outboxes_in_memory() -> None:
    """Once and in order, whatever fails and whoever delivers."""
    run(InMemory, settings().max_examples)
