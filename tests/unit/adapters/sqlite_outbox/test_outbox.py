"""What the outbox in SQLite promises beyond the contract of the port."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.domain.errors import OutboxUnavailable
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Claim, Draft, Lane, Tally

SERVER = "http://127.0.0.1:8000"
LANE = Lane(SERVER, "workspace", "session")
NOW = 1_000_000_000.0
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECRET = "what-only-the-user-may-know"


OnConnect = Callable[[Callable[[sqlite3.Connection], object]], None]


def draft(key: str, content: str = "Hello", *, created_at: datetime = NOON) -> Draft:
    return Draft(Outgoing(key, "alice", content, created_at, {"trace_id": content[:40]}))


def claimed(outbox: SqliteOutbox, *, now: float = NOW) -> Claim:
    claim = outbox.claim(SERVER, holder="h", now=now, lease=60, limit=100, max_bytes=10**6)
    assert claim is not None
    return claim


def deliver(outbox: SqliteOutbox) -> None:
    claim = claimed(outbox)
    outbox.delivered(claim, [row.number for row in claim.rows], now=NOW)
    outbox.release(claim, due=NOW)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


@pytest.fixture
def outbox(path: Path) -> Iterator[SqliteOutbox]:
    with closing(SqliteOutbox(path)) as outbox:
        yield outbox


@pytest.fixture
def on_connect(monkeypatch: pytest.MonkeyPatch) -> OnConnect:
    """Have something done to every connection that is made from now on."""
    connect = sqlite3.connect

    def on_connect(action: Callable[[sqlite3.Connection], object]) -> None:
        def connect_and_act(*args: Any, **options: Any) -> sqlite3.Connection:
            db: sqlite3.Connection = connect(*args, **options)
            action(db)
            return db

        monkeypatch.setattr(sqlite3, "connect", connect_and_act)

    return on_connect


def files_with_secret(path: Path) -> list[str]:
    return [each.name for each in path.parent.iterdir() if SECRET.encode() in each.read_bytes()]


def test_erases_delivered_content(path: Path, outbox: SqliteOutbox) -> None:
    """What is delivered is neither in the file nor in its log once the outbox is tidied."""
    for number in range(30):
        outbox.put(LANE, [draft(f"k{number}", SECRET * (1 + number * number))], now=NOW)
    outbox.tidy(now=NOW)
    assert ["outbox.db"] == files_with_secret(path)

    deliver(outbox)
    outbox.put(LANE, [draft("waiting")], now=NOW)
    outbox.tidy(now=NOW)

    assert [] == files_with_secret(path)
    assert path.with_name("outbox.db-wal").stat().st_size == 0


def test_erases_what_was_dropped_or_discarded(path: Path, outbox: SqliteOutbox) -> None:
    """Neither dropped nor discarded content stays, nor the reason that may quote it."""
    outbox.put(LANE, [draft("a", SECRET), draft("b", SECRET)], now=NOW)
    outbox.drop(LANE, ["a"], now=NOW)
    claim = claimed(outbox)
    outbox.set_aside(claim, {claim.rows[0].number: SECRET * 100}, now=NOW)
    outbox.discard([claim.rows[0].number], now=NOW)

    outbox.tidy(now=NOW)

    assert [] == files_with_secret(path)


def test_erases_when_the_reader_is_gone(path: Path, outbox: SqliteOutbox) -> None:
    """A reader that keeps the log from being emptied delays that to the next tidy."""
    outbox.put(LANE, [draft("a", SECRET)], now=NOW)
    with closing(sqlite3.connect(path)) as reader:
        rows = reader.execute("SELECT key FROM message UNION ALL SELECT 'b'")
        next(rows)
        deliver(outbox)
        outbox.tidy(now=NOW)
        assert ["outbox.db-wal"] == files_with_secret(path)
        rows.close()

    outbox.tidy(now=NOW)

    assert [] == files_with_secret(path)


def test_forgets_lanes_after_a_year(outbox: SqliteOutbox) -> None:
    """A lane that nobody used for a year leaves nothing behind; one that waits stays."""
    waiting = Lane(SERVER, "workspace", "waiting")
    outbox.put(LANE, [draft("a")], now=NOW)
    deliver(outbox)
    outbox.put(waiting, [draft("a")], now=NOW)
    later = NOW + 366 * 86_400.0

    outbox.tidy(now=later)

    earlier = NOON - timedelta(days=1)
    outbox.put(waiting, [draft("b", created_at=earlier)], now=later)
    outbox.put(LANE, [draft("b", created_at=earlier)], now=later)
    assert [NOON, NOON] == [row.message.created_at for row in claimed(outbox, now=later).rows]
    assert [earlier] == [row.message.created_at for row in claimed(outbox, now=later).rows]


def test_a_full_disk_changes_nothing(outbox: SqliteOutbox, on_connect: OnConnect) -> None:
    """A turn for which the disk has no room is refused as a whole, with no word of it."""
    on_connect(lambda db: db.execute("PRAGMA max_page_count = 60"))
    outbox.put(LANE, [draft("a")], now=NOW)

    with pytest.raises(OutboxUnavailable, match="full") as caught:
        outbox.put(LANE, [draft("b"), draft("c", SECRET * 50_000)], now=NOW)

    assert isinstance(caught.value.__cause__, sqlite3.Error)
    assert SECRET not in str(caught.value)
    assert {"a"} == outbox.known(LANE, ["a", "b", "c"])
    assert outbox.tally(SERVER) == Tally(waiting=1)
    assert outbox.put(LANE, [draft("b")], now=NOW) == 1


def test_text_that_is_not_unicode_is_refused(outbox: SqliteOutbox) -> None:
    """Text that SQLite cannot keep is refused without quoting it, and nothing is kept."""
    with pytest.raises(OutboxUnavailable) as caught:
        outbox.put(LANE, [draft("a"), draft("b", SECRET + "\ud800")], now=NOW)

    assert SECRET not in str(caught.value)
    assert outbox.tally(SERVER) == Tally()


def test_a_damaged_row_is_unavailable(path: Path, outbox: SqliteOutbox) -> None:
    """What cannot be read is an error of the storage, and its lane stays unclaimed."""
    outbox.put(LANE, [draft("a")], now=NOW)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE message SET metadata = '{'")

    with pytest.raises(OutboxUnavailable, match="value"):
        claimed(outbox)

    assert outbox.next_due(SERVER) == NOW


def test_a_number_that_no_message_has_is_unavailable(outbox: SqliteOutbox) -> None:
    """Whatever number somebody types, no foreign error comes back."""
    with pytest.raises(OutboxUnavailable):
        outbox.retry([10**30], now=NOW)


@pytest.mark.parametrize("delivered", [True, False])
def test_a_turn_costs_the_same_in_any_thread(
    outbox: SqliteOutbox,
    on_connect: OnConnect,
    delivered: bool,
) -> None:
    """What SQLite does for a turn does not grow with what the thread holds already."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    on_connect(lambda db: db.set_progress_handler(count, 1))

    def cost(thread: str, length: int) -> int:
        lane = Lane(SERVER, "workspace", thread)
        outbox.put(lane, [draft(f"k{number}") for number in range(length)], now=NOW)
        while delivered and outbox.tally(SERVER).waiting:
            deliver(outbox)
        before = steps
        outbox.known(lane, ["new", "newer", f"k{length - 1}"])
        outbox.put(lane, [draft("new"), draft("newer")], now=NOW)
        spent = steps - before
        outbox.drop(lane, ["new", "newer"], now=NOW)
        return spent

    assert cost("short", 10) > 10
    assert cost("long", 5000) < 1.2 * cost("other", 10)


def test_a_claim_costs_the_same_beside_many_idle_lanes(
    outbox: SqliteOutbox, on_connect: OnConnect
) -> None:
    """What SQLite does for a claim does not grow with the threads that there have been."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    on_connect(lambda db: db.set_progress_handler(count, 1))

    def cost(lanes: int) -> int:
        for number in range(lanes):
            outbox.put(Lane(SERVER, "workspace", f"{lanes}-{number}"), [draft("a")], now=NOW)
            deliver(outbox)
        outbox.put(LANE, [draft(f"k{lanes}")], now=NOW)
        before = steps
        deliver(outbox)
        return steps - before

    few = cost(1)
    assert cost(300) < 1.2 * few
