"""Opening the outbox's file, whatever is in its place."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from honcho_memory.adapters.sqlite_outbox import SqliteOutbox, database
from honcho_memory.domain.errors import OutboxUnavailable
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Draft, Lane, Tally

SERVER = "http://127.0.0.1:8000"
LANE = Lane(SERVER, "workspace", "session")
NOW = 1_000_000_000.0


def put(outbox: SqliteOutbox, key: str = "a", content: str = "Hello") -> int:
    message = Outgoing(key, "alice", content, datetime(2026, 1, 1, tzinfo=UTC))
    return outbox.put(LANE, [Draft(message)], now=NOW)


def a_full_outbox(path: Path) -> None:
    with closing(SqliteOutbox(path)) as outbox:
        for number in range(50):
            put(outbox, f"k{number}", "content" * 200)


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 500)


def a_torn_outbox(path: Path) -> None:
    a_full_outbox(path)
    content = bytearray(path.read_bytes())
    content[8192 : len(content) // 2] = os.urandom(len(content) // 2 - 8192)
    path.write_bytes(content)


def a_cut_outbox(path: Path) -> None:
    a_full_outbox(path)
    os.truncate(path, path.stat().st_size // 2)


def another_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE lane (id)")


def a_newer_outbox(path: Path) -> None:
    a_full_outbox(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION + 1}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


@pytest.fixture
def outbox(path: Path) -> Iterator[SqliteOutbox]:
    with closing(SqliteOutbox(path)) as outbox:
        yield outbox


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (garbage, "moved away"),
        (a_torn_outbox, "move"),
        (a_cut_outbox, "move"),
        (another_database, "choose another storage path"),
        (a_newer_outbox, "install that version again"),
    ],
)
def test_leaves_a_bad_file_as_it_is(
    path: Path, outbox: SqliteOutbox, make: Callable[[Path], None], advice: str
) -> None:
    """A file that is of no use is refused with advice, at once and at every call, untouched."""
    make(path)
    before = path.read_bytes()

    for call in (outbox.open, lambda: put(outbox)):
        with pytest.raises(OutboxUnavailable, match=advice):
            call()
    outbox.close()

    assert before == path.read_bytes()


def test_leaves_a_newer_file_in_use_as_it_is(path: Path, outbox: SqliteOutbox) -> None:
    """Neither the file of a newer version nor its log is written, also while it is in use."""
    a_full_outbox(path)
    with closing(sqlite3.connect(path)) as newer:
        newer.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION + 1}")
        log = path.with_name("outbox.db-wal")
        before = path.read_bytes(), log.read_bytes()
        assert before[1]

        with pytest.raises(OutboxUnavailable, match="newer version"):
            outbox.open()

        assert before == (path.read_bytes(), log.read_bytes())


def test_refuses_a_newer_empty_file(path: Path, outbox: SqliteOutbox) -> None:
    """The version counts also where nothing else is in the file."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")

    with pytest.raises(OutboxUnavailable, match="schema 99"):
        outbox.open()


def test_refuses_a_folder(path: Path, outbox: SqliteOutbox) -> None:
    """A folder in the place of the file is refused."""
    path.mkdir()

    with pytest.raises(OutboxUnavailable, match="Check that"):
        outbox.open()


def test_refuses_a_path_below_a_file(tmp_path: Path) -> None:
    """A folder that cannot be created is refused, and nothing is left behind."""
    (tmp_path / "file").write_text("content")

    with pytest.raises(OutboxUnavailable) as caught:
        SqliteOutbox(tmp_path / "file" / "outbox.db").open()

    assert isinstance(caught.value.__cause__, OSError)
    assert ["file"] == [each.name for each in tmp_path.iterdir()]


def test_refuses_a_path_that_is_none(tmp_path: Path) -> None:
    """A name that no file can have is refused as any other."""
    with pytest.raises(OutboxUnavailable):
        SqliteOutbox(tmp_path / "a\0b").open()


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="needs a user whom permissions bind"
)
def test_refuses_a_file_that_it_may_not_write(path: Path, outbox: SqliteOutbox) -> None:
    """A file that can only be read is refused at once rather than at the first message."""
    a_full_outbox(path)
    path.chmod(0o400)

    with pytest.raises(OutboxUnavailable):
        outbox.open()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_keeps_its_files_private(tmp_path: Path) -> None:
    """What users said is for the user of the process alone, whatever the umask."""
    folder = tmp_path / "deep" / "storage"
    umask = os.umask(0)
    try:
        with closing(SqliteOutbox(folder / "outbox.db")) as outbox:
            put(outbox)
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}
    finally:
        os.umask(umask)

    assert {"outbox.db": 0o600, "outbox.db-shm": 0o600, "outbox.db-wal": 0o600} == modes
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_does_nothing_before_it_is_used(path: Path, outbox: SqliteOutbox) -> None:
    """Making an outbox touches no disk, and neither does closing it."""
    outbox.close()
    assert not path.exists()


def test_keeps_what_waits_over_a_restart(path: Path, outbox: SqliteOutbox) -> None:
    """What was accepted waits in the file for the next start."""
    put(outbox, "a")
    outbox.close()
    with closing(SqliteOutbox(path)) as next_one:
        next_one.open()
        assert next_one.tally(SERVER) == Tally(waiting=1)
        assert put(next_one, "a") == 0


@pytest.mark.parametrize("name", [":memory:", "file:name?mode=ro", "100% #?.db"])
def test_takes_any_name_for_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """No name of a file means something else than that file."""
    monkeypatch.chdir(tmp_path)
    with closing(SqliteOutbox(Path(name))) as outbox:
        put(outbox)
    with closing(SqliteOutbox(tmp_path / name)) as outbox:
        assert outbox.tally(SERVER) == Tally(waiting=1)


def test_restores_what_a_dying_process_left(path: Path, tmp_path: Path) -> None:
    """A process that dies before the write-ahead log is in use leaves a file that opens."""
    a_full_outbox(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as dying:
        dying.execute("PRAGMA journal_mode = DELETE")
        dying.execute("PRAGMA cache_size = 1")
        dying.execute("BEGIN")
        dying.execute("UPDATE message SET content = 'half' || content")
        crashed = tmp_path / "crashed.db"
        shutil.copy(path, crashed)
        shutil.copy(f"{path}-journal", f"{crashed}-journal")

    with closing(SqliteOutbox(crashed)) as outbox:
        claim = outbox.claim(SERVER, holder="h", now=NOW, lease=60, limit=100, max_bytes=10**6)

    assert claim is not None
    assert ["content" * 200] * 50 == [row.message.content for row in claim.rows]


def test_waits_for_another_process_that_creates_the_file(
    path: Path, outbox: SqliteOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two processes that start at once, one waits for the other."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waits: list[float] = []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                other.execute("ROLLBACK")

        monkeypatch.setattr(time, "sleep", sleep)
        assert put(outbox) == 1

    assert len(waits) == 2


def test_does_not_wait_for_ever(
    path: Path, outbox: SqliteOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that stays locked is unavailable."""
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += 1.0

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", sleep)
        monkeypatch.setattr(time, "monotonic", lambda: now)
        with pytest.raises(OutboxUnavailable, match="locked"):
            outbox.open()


def test_refuses_a_file_system_without_a_log(
    outbox: SqliteOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where SQLite cannot keep its log, the promise could not be kept either."""
    connect = sqlite3.connect

    def connect_to_memory(_: str, **options: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(":memory:", **options)
        return db

    monkeypatch.setattr(sqlite3, "connect", connect_to_memory)
    with pytest.raises(OutboxUnavailable, match="local disk"):
        outbox.open()
