"""Two outboxes that share no code agree on every step of any history."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType]  # untyped there
)

from honcho_memory.adapters.in_memory import InMemoryOutbox
from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.domain.errors import OutboxFull
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Claim, Draft, Lane, Outbox

T = TypeVar("T")

SERVERS = ("http://127.0.0.1:8000", "http://127.0.0.1:9000")
LANES = [Lane(server, "workspace", session) for server in SERVERS for session in ("a", "b")]
KEYS = [f"k{number}" for number in range(12)]
LIMITS = {"max_messages": 20, "max_bytes": 150}
START = datetime(2026, 1, 1, tzinfo=UTC)

lanes = st.sampled_from(LANES)
keys = st.lists(st.sampled_from(KEYS), max_size=5)
seconds = st.sampled_from([0.0, 1.0, 30.0, 60.0, 4000.0, 31 * 86_400.0])


class Histories(RuleBasedStateMachine):
    """Every step is done to both; claims and numbers are kept in pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "outbox.db"
        self.sqlite = SqliteOutbox(self.path, **LIMITS)
        self.memory = InMemoryOutbox(**LIMITS)
        self.now = 1_000_000_000.0
        self.claims: list[tuple[Claim, Claim]] = []

    def teardown(self) -> None:
        self.sqlite.close()
        self.folder.cleanup()

    def both(self, action: Callable[[Outbox], T]) -> T:
        """Do the same to both; what came of it, which has to be the same."""
        first, second = action(self.memory), action(self.sqlite)
        assert first == second
        return first

    @rule(lane=lanes, keys=keys, size=st.integers(1, 30), shift=st.integers(-2, 2))
    def put(self, lane: Lane, keys: list[str], size: int, shift: int) -> None:
        at = START + timedelta(minutes=shift)
        drafts = [
            Draft(Outgoing(key, "alice", "x" * size, at), owner=key[-1:], said_at=self.now)
            for key in keys
        ]
        new = set(keys) - self.both(lambda outbox: outbox.known(lane, keys))

        def put_or_refuse(outbox: Outbox) -> int | None:
            try:
                return outbox.put(lane, drafts, now=self.now)
            except OutboxFull:
                return None

        count = self.both(put_or_refuse)
        assert count in (None, len(new))

    @rule(server=st.sampled_from(SERVERS), limit=st.integers(1, 5), size=st.integers(1, 60))
    def claim(self, server: str, limit: int, size: int) -> None:
        holder = str(len(self.claims))

        def claim(outbox: Outbox) -> Claim | None:
            return outbox.claim(
                server, holder=holder, now=self.now, lease=60.0, limit=limit, max_bytes=size
            )

        pair = claim(self.memory), claim(self.sqlite)
        assert without_numbers(pair[0]) == without_numbers(pair[1])
        if pair[0] is not None and pair[1] is not None:
            self.claims.append((pair[0], pair[1]))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), end=st.sampled_from(["delivered", "set aside", "both"]))
    def end(self, data: st.DataObject, end: str) -> None:
        memory, sqlite = data.draw(st.sampled_from(self.claims))
        places = (
            data.draw(st.sets(st.integers(0, len(memory.rows) - 1))) if memory.rows else set[int]()
        )
        for outbox, claim in ((self.memory, memory), (self.sqlite, sqlite)):
            numbers = [claim.rows[place].number for place in places]
            if end != "delivered":
                outbox.set_aside(claim, dict.fromkeys(numbers, "too long"), now=self.now)
            if end != "set aside":
                outbox.delivered(claim, numbers, now=self.now)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), pause=seconds, failed=st.booleans())
    def release(self, data: st.DataObject, pause: float, failed: bool) -> None:
        memory, sqlite = data.draw(st.sampled_from(self.claims))
        failed = failed and bool(memory.rows)  # nobody can fail to deliver nothing
        self.memory.release(memory, due=self.now + pause, failed=failed)
        self.sqlite.release(sqlite, due=self.now + pause, failed=failed)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        memory, sqlite = data.draw(st.sampled_from(self.claims))
        assert self.memory.renew(memory, now=self.now, lease=60.0) == self.sqlite.renew(
            sqlite, now=self.now, lease=60.0
        )

    @rule(server=st.sampled_from(SERVERS), discard=st.booleans(), keys=keys)
    def decide(self, server: str, discard: bool, keys: list[str]) -> None:
        def decide(outbox: Outbox) -> int:
            numbers = [
                each.number for each in outbox.refused(server) if each.message.key in set(keys)
            ]
            act = outbox.discard if discard else outbox.retry
            return act(numbers, now=self.now)

        self.both(decide)

    @rule(lane=lanes, keys=keys)
    def drop(self, lane: Lane, keys: list[str]) -> None:
        self.both(lambda outbox: outbox.drop(lane, keys, now=self.now))

    @rule(lane=lanes, owner=st.sampled_from("0123"), shift=st.integers(-1, 0))
    def forget(self, lane: Lane, owner: str, shift: int) -> None:
        self.both(
            lambda outbox: outbox.forget(
                lane.server, lane.workspace, owner, until=self.now + shift, now=self.now
            )
        )

    @rule(lane=lanes)
    def hold(self, lane: Lane) -> None:
        holder = f"hold {len(self.claims)}"
        held = self.both(lambda outbox: outbox.hold(lane, holder=holder, now=self.now, lease=60.0))
        if held is not None:
            self.claims.append((held, held))

    @rule(pause=seconds, back=st.booleans())
    def pass_time(self, pause: float, back: bool) -> None:
        self.now += -pause if back else pause

    @rule()
    def tidy(self) -> None:
        self.memory.tidy(now=self.now)
        self.sqlite.tidy(now=self.now)

    @rule()
    def restart(self) -> None:
        self.sqlite.close()
        self.sqlite = SqliteOutbox(self.path, **LIMITS)

    @invariant()
    def agree(self) -> None:
        for server in SERVERS:
            for ask in (look, count, wait):
                self.both(partial(ask, server))


def look(server: str, outbox: Outbox) -> object:
    return [(each.lane, each.message, each.reason) for each in outbox.refused(server)]


def count(server: str, outbox: Outbox) -> object:
    return outbox.tally(server)


def wait(server: str, outbox: Outbox) -> object:
    return outbox.next_due(server)


def without_numbers(claim: Claim | None) -> object:
    """A claim as both have to hand it out; their numbers may differ, but not their order."""
    if claim is None:
        return None
    numbers = [row.number for row in claim.rows]
    assert numbers == sorted(set(numbers))
    return replace(claim, rows=tuple(replace(row, number=0) for row in claim.rows))


def test_outboxes_agree() -> None:
    """Whatever happens to an outbox, in SQLite it happens as it does in memory."""
    run_state_machine_as_test(Histories, settings=settings(max_examples=25, stateful_step_count=30))
