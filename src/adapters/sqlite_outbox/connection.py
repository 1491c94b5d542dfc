"""A connection to the outbox's file that threads share and a fork does not carry over."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Generator
from pathlib import Path

from honcho_memory.adapters.forks import PausedAtFork
from honcho_memory.adapters.sqlite_outbox.database import BUSY_SECONDS, connect
from honcho_memory.domain.errors import OutboxUnavailable

_CHECKPOINT_BUSY_SECONDS = 0.1


class SharedConnection:
    """One connection and the lock that lets one thread at a time use it.

    SQLite has one writer at a time anyway, so that a connection for each thread would gain
    nothing, and would be left behind by every thread that ends. It opens at first use, and
    again when it is used after a fork.
    """

    def __init__(self, path: Path, *, autocheckpoint: bool) -> None:
        self._path = path
        self._autocheckpoint = autocheckpoint
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._is_closed = False
        _forks.add(self)

    @contextlib.contextmanager
    def use(self) -> Generator[sqlite3.Connection, None, None]:
        """The connection, outside a transaction.

        Raises:
            OutboxUnavailable: For whatever SQLite raised, also in the body.
        """
        with self._lock, self._translated():
            if self._is_closed:
                raise OutboxUnavailable(f"The outbox {self._path} is closed.")
            if self._db is None:
                self._db = connect(self._path, autocheckpoint=self._autocheckpoint)
            yield self._db

    @contextlib.contextmanager
    def transaction(self) -> Generator[sqlite3.Connection, None, None]:
        """The connection in a transaction that may write; undone when the body raises.

        Raises:
            OutboxUnavailable: For whatever SQLite raised, also in the body.
        """
        with self.use() as db:
            # Begun as a writer: one that reads first fails when another has written since.
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                # Some failures have ended it already.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def empty_log(self) -> None:
        """Move the write-ahead log into the file and leave it empty, unless somebody reads it."""
        with self.use() as db:
            # It keeps writers out while it waits for readers.
            _wait_at_most(db, _CHECKPOINT_BUSY_SECONDS)
            try:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                _wait_at_most(db, BUSY_SECONDS)

    def close(self) -> None:
        """Close it for good."""
        with self._lock:
            self._is_closed = True
            self._disconnect()

    @contextlib.contextmanager
    def _translated(self) -> Generator[None, None, None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise OutboxUnavailable(
                f"The outbox {self._path} cannot be used ({error}). Check that it is no other "
                "kind of file, that this process may write to it and its folder, and that the "
                "disk has room; a damaged one can be moved away, to begin with an empty one."
            ) from error
        except (ValueError, OverflowError) as error:
            raise OutboxUnavailable(
                f"The outbox {self._path} cannot keep or read a value ({error})."
            ) from error

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with contextlib.suppress(sqlite3.Error):
                db.close()

    def pause(self) -> None:
        """Disconnect, and keep everybody out until `resume`."""
        self._lock.acquire()
        self._disconnect()

    def resume(self) -> None:
        """Let the next call connect again."""
        self._lock.release()


# SQLite counts the locks of a process in its memory. A child that inherits an open connection
# believes that it holds the locks of its parent, even where it opens the file anew: then the
# parent, closing, deletes the log that the child still writes to. So nothing is open at a fork.
_forks = PausedAtFork[SharedConnection]()


def _wait_at_most(db: sqlite3.Connection, seconds: float) -> None:
    db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
