"""The outbox's file: creating it, judging one that is there, connecting to it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

from honcho_memory.domain.errors import OutboxUnavailable

SCHEMA_VERSION = 1
APPLICATION_ID = 0x484D4F42
"""Tells the outbox from other programs' databases."""
BUSY_SECONDS = 5.0
"""How long a transaction waits for those of other threads and processes."""

_WAL_RETRY_SECONDS = 0.01

_SCHEMA = (
    """
    CREATE TABLE lane (
        id INTEGER PRIMARY KEY,
        server TEXT NOT NULL,
        workspace TEXT NOT NULL,
        session TEXT NOT NULL,
        due REAL,                   -- NULL: nothing waits and nobody holds it
        holder TEXT,
        failures INTEGER NOT NULL DEFAULT 0,
        latest TEXT,                -- created_at of the last message it accepted
        used_at REAL NOT NULL,
        UNIQUE (server, workspace, session)
    )
    """,
    "CREATE INDEX lane_due ON lane (server, due) WHERE due IS NOT NULL",
    "CREATE INDEX lane_used ON lane (used_at)",
    # A number is never given twice: a late holder must not report somebody else's message.
    """
    CREATE TABLE message (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        lane INTEGER NOT NULL,
        key TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'set_aside', 'known')),
        doubtful INTEGER NOT NULL,
        accepted_at REAL NOT NULL,
        ended_at REAL,              -- when it became known without content
        size INTEGER NOT NULL,      -- bytes of UTF-8 content
        owner TEXT NOT NULL,
        said_at REAL NOT NULL,
        author TEXT NOT NULL,
        content TEXT NOT NULL,
        created_at TEXT NOT NULL,
        metadata TEXT NOT NULL,
        builtin_digest TEXT,
        reason TEXT,
        UNIQUE (lane, key)
    )
    """,
    "CREATE INDEX message_waiting ON message (lane) WHERE state = 'waiting'",
    "CREATE INDEX message_set_aside ON message (lane) WHERE state = 'set_aside'",
    "CREATE INDEX message_known ON message (lane) WHERE state = 'known'",
    "CREATE INDEX message_ended ON message (ended_at) WHERE state = 'known'",
    # Counting a backlog at each acceptance would cost more the longer an outage lasts.
    "CREATE TABLE held (messages INTEGER NOT NULL, bytes INTEGER NOT NULL)",
    "INSERT INTO held VALUES (0, 0)",
    """
    CREATE TRIGGER message_accepted AFTER INSERT ON message BEGIN
        UPDATE held SET messages = messages + 1, bytes = bytes + NEW.size;
    END
    """,
    """
    CREATE TRIGGER message_forgotten AFTER UPDATE OF state ON message
    WHEN OLD.state <> 'known' AND NEW.state = 'known' BEGIN
        UPDATE held SET messages = messages - 1, bytes = bytes - OLD.size;
    END
    """,
    """
    CREATE TABLE mark (
        server TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (server, name)
    ) WITHOUT ROWID
    """,
    f"PRAGMA application_id = {APPLICATION_ID}",
)


def connect(path: Path, *, autocheckpoint: bool) -> sqlite3.Connection:
    """Open the outbox's file, which is created when there is none.

    Args:
        path: The file; its folder is created too, both for this user alone.
        autocheckpoint: Whether a commit may stop to move the write-ahead log into the file.

    Raises:
        OutboxUnavailable: The file is of no use; it says why and was left as it is.
        OSError, sqlite3.Error: It cannot be opened.
    """
    # An absolute path, so that no name, not even ":memory:", means something else to SQLite.
    path = path.absolute()
    _create(path)
    if path.stat().st_size:
        _inspect(path)
    db = _open(str(path))
    try:
        # First, so that no content is spilled into a temporary file.
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA secure_delete = ON")
        _use_write_ahead_log(db, path)
        db.execute("PRAGMA synchronous = NORMAL")
        if not autocheckpoint:
            db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("BEGIN IMMEDIATE")
        if not _is_outbox(db, path):
            for statement in _SCHEMA:
                db.execute(statement)
        # Written each time: a file that can only be read shows here, not at the first message.
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Only a file that nobody can have open yet is opened besides SQLite: closing it would
    # drop the locks that this process holds on it. SQLite gives its own files the same mode.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _open(database: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        database, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=uri
    )


def _inspect(path: Path) -> None:
    # Read-only, because even closing an ordinary connection may write to a file.
    db = _open(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        _is_outbox(db, path)
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        # A process died while it created the file; whoever may write to it can restore it.
        if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
            return
        raise
    finally:
        db.close()
    if verdict != "ok":
        raise OutboxUnavailable(
            f"The outbox {path} is damaged ({verdict}): move it away to begin with an empty "
            "one; what waits in it is not delivered."
        )


def _is_outbox(db: sqlite3.Connection, path: Path) -> bool:
    """Whether the file holds an outbox; False when it holds nothing."""
    # First: another process may be creating the file, tables and ids in one transaction.
    (tables,) = db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if tables and application != APPLICATION_ID:
        raise OutboxUnavailable(
            f"The outbox {path} is another program's database: choose another storage path."
        )
    if version > SCHEMA_VERSION:
        raise OutboxUnavailable(
            f"The outbox {path} was written by a newer version of honcho-memory (schema "
            f"{version}, this one reads {SCHEMA_VERSION}): install that version again, or "
            "choose another storage path."
        )
    return bool(tables)


def _use_write_ahead_log(db: sqlite3.Connection, path: Path) -> None:
    # SQLite does not wait here when another process is doing the same.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(_WAL_RETRY_SECONDS)
        else:
            break
    if mode != "wal":
        raise OutboxUnavailable(
            f"The outbox {path} is on a file system that cannot keep a write-ahead log: "
            "choose a storage path on a local disk."
        )
