"""What the outbox in memory promises beyond the contract of the port."""

from __future__ import annotations

import gc
import os
from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryOutbox
from honcho_memory.adapters.in_memory import outbox as module
from honcho_memory.adapters.in_memory.lanes import Queue
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Claim, Draft, Lane, Tally

SERVER = "http://127.0.0.1:8000"
NOW = 1_000_000_000.0


def lane(thread: int) -> Lane:
    return Lane(SERVER, "workspace", f"thread-{thread}")


def put(outbox: InMemoryOutbox, to: Lane, *keys: str) -> int:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return outbox.put(to, [Draft(Outgoing(key, "alice", "Hello", at)) for key in keys], now=NOW)


def claimed(outbox: InMemoryOutbox) -> Claim:
    claim = outbox.claim(SERVER, holder="h", now=NOW, lease=60, limit=10_000, max_bytes=10**6)
    assert claim is not None
    return claim


def deliver(outbox: InMemoryOutbox) -> Claim:
    claim = claimed(outbox)
    outbox.delivered(claim, [row.number for row in claim.rows], now=NOW)
    outbox.release(claim, due=NOW)
    return claim


def lanes_in_memory() -> int:
    gc.collect()
    return sum(isinstance(each, Queue) for each in gc.get_objects())


@pytest.fixture
def outbox() -> InMemoryOutbox:
    return InMemoryOutbox()


def test_does_not_grow_with_threads(
    outbox: InMemoryOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond a number of keys, the thread that was idle longest is forgotten as a whole."""
    monkeypatch.setattr(module, "REMEMBERED", 90)
    before = lanes_in_memory()
    for thread in range(100):
        put(outbox, lane(thread), "a", "b")
        deliver(outbox)
        put(outbox, lane(0), f"k{thread}")
        deliver(outbox)

    assert lanes_in_memory() - before <= 30
    assert {"a", "b"} == outbox.known(lane(99), ["a", "b"])
    assert set() == outbox.known(lane(1), ["a", "b"])
    assert {"k99", "k50"} == outbox.known(lane(0), ["k99", "k50", "k1"])


def test_does_not_grow_with_a_thread(outbox: InMemoryOutbox) -> None:
    """Of a thread of 5,000 messages, 50 keys are kept, and nothing of their content."""
    keys = [f"k{number}" for number in range(5000)]
    put(outbox, lane(0), *keys)
    del keys[:-50]
    gc.collect()
    deliver(outbox)

    assert set(keys) == outbox.known(lane(0), [f"k{number}" for number in range(5000)])
    gc.collect()
    mine = [each for each in gc.get_objects() if isinstance(each, Outgoing)]
    assert [] == [each for each in mine if each.key in keys]


def test_forgets_keys_rather_than_messages(
    outbox: InMemoryOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread in which something waits or is set aside loses its old keys, and only those."""
    put(outbox, lane(0), "delivered")
    deliver(outbox)
    put(outbox, lane(0), "set aside", "waiting")
    claim = claimed(outbox)
    outbox.set_aside(claim, {claim.rows[0].number: "too long"}, now=NOW)
    monkeypatch.setattr(module, "REMEMBERED", 2)

    put(outbox, lane(1), "a")
    deliver(outbox)

    keys = ["delivered", "set aside", "waiting"]
    assert {"set aside", "waiting"} == outbox.known(lane(0), keys)
    outbox.release(claim, due=NOW)
    assert ["waiting"] == [row.message.key for row in deliver(outbox).rows]


def test_forgets_a_lane_that_ends_unremembered(
    outbox: InMemoryOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread whose keys went while it was held goes with its holder."""
    before = lanes_in_memory()
    monkeypatch.setattr(module, "REMEMBERED", 2)
    put(outbox, lane(0), "a")
    held = claimed(outbox)
    outbox.delivered(held, [held.rows[0].number], now=NOW)
    put(outbox, lane(1), "a")
    deliver(outbox)
    assert lanes_in_memory() - before == 2

    outbox.release(held, due=NOW)

    assert lanes_in_memory() - before == 1


def test_room_is_made_by_tidying(outbox: InMemoryOutbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that were forgotten for their age take no room from others."""
    monkeypatch.setattr(module, "REMEMBERED", 4)
    put(outbox, lane(0), "a", "b")
    deliver(outbox)
    put(outbox, lane(2), "waiting")
    outbox.tidy(now=NOW + 31 * 86_400)
    claimed(outbox)

    put(outbox, lane(1), "c", "d")
    deliver(outbox)

    at = datetime(2025, 1, 1, tzinfo=UTC)
    outbox.put(lane(0), [Draft(Outgoing("e", "alice", "Hello", at))], now=NOW)
    assert [datetime(2026, 1, 1, tzinfo=UTC)] == [
        row.message.created_at for row in claimed(outbox).rows
    ]
    assert {"c", "d"} == outbox.known(lane(1), ["c", "d"])


def test_does_not_grow_with_marks(outbox: InMemoryOutbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many marks, those that were set last are kept."""
    monkeypatch.setattr(module, "KEPT_MARKS", 2)
    for name in ("a", "b", "a", "c"):
        outbox.mark(SERVER, name, name)

    assert ["a", None, "c"] == [outbox.marked(SERVER, name) for name in "abc"]


def test_a_fork_inherits_keys_but_no_messages(outbox: InMemoryOutbox) -> None:
    """What waits is the parent's to deliver; the child has seen it, and has room for more."""
    outbox = InMemoryOutbox(max_messages=3)
    put(outbox, lane(0), "waiting")
    put(outbox, lane(1), "set aside")
    put(outbox, lane(2), "held")
    claims = [claimed(outbox) for _ in range(3)]
    outbox.release(claims[0], due=NOW)
    outbox.set_aside(claims[1], {claims[1].rows[0].number: "too long"}, now=NOW)
    outbox.release(claims[1], due=NOW)

    outbox.disown(now=NOW)

    assert outbox.tally(SERVER) == Tally()
    assert outbox.next_due(SERVER) is None
    assert not outbox.renew(claims[2], now=NOW, lease=60)
    assert put(outbox, lane(0), "waiting", "a", "b", "c") == 3
    assert put(outbox, lane(1), "set aside") == put(outbox, lane(2), "held") == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_is_disowned_at_a_fork(outbox: InMemoryOutbox) -> None:
    """A forked child delivers nothing of its parent's, which goes on as before."""
    put(outbox, lane(0), "a")

    child = os.fork()
    if not child:
        os._exit(outbox.tally(SERVER).waiting)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert ["a"] == [row.message.key for row in claimed(outbox).rows]
