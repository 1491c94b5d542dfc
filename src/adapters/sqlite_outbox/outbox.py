"""The outbox port over one SQLite file."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path

from honcho_memory.adapters.sqlite_outbox.connection import SharedConnection
from honcho_memory.adapters.sqlite_outbox.processes import lives_elsewhere, this_process
from honcho_memory.adapters.sqlite_outbox.rows import (
    FORGET,
    IS_OF_OWNER,
    IS_WAITED_IN,
    MESSAGE,
    find_or_add_lane,
    insert_unseen,
    keep_newest_keys,
    lane_id_of,
    oldest,
    rest_if_done,
    retry,
    to_message,
)
from honcho_memory.domain.errors import OutboxFull
from honcho_memory.ports.outbox import Claim, Draft, Lane, Queued, Refused, Tally

LONGEST_WAIT = 3600.0
"""Seconds; longer than any lease or back-off: a lane due later than that was given its time by
a clock that has since been put back."""
LONGEST_SLEEP = 600.0
"""Seconds; so long after its end a lease is left to another process that is alive."""
KEPT_KEYS = 50
"""Of a lane, of messages that are delivered, dropped or discarded."""
KEPT_KEYS_SECONDS = 30 * 86_400.0
KEPT_LANES_SECONDS = 365 * 86_400.0
"""How long a lane that holds nothing remembers the time of its last message."""

_TIDY_AT_ONCE = 1000
_VARIABLES = 500
"""At most in one statement; old builds of SQLite take 999."""


class SqliteOutbox:
    """Turn messages in a SQLite file, for the threads and processes of one machine.

    The file opens at first use, or with `open`. Content is erased from the file by a delivery
    and from its write-ahead log by the next `tidy`: call that at least every 30 seconds, so
    that it is gone within a minute even if a reader is in the way of one.

    `known`, `put` and `drop`, for which the host waits, have a connection to themselves, which
    never stops to move the log into the file; everything else is the delivery's.

    Args:
        path: The file, on a local disk.
        max_messages: How many messages may wait or be set aside.
        max_bytes: How many bytes of UTF-8 content they may have together.
    """

    def __init__(
        self, path: Path, *, max_messages: int = 10_000, max_bytes: int = 64 * 1024 * 1024
    ) -> None:
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._callers = SharedConnection(path, autocheckpoint=False)
        self._workers = SharedConnection(path, autocheckpoint=True)

    def open(self) -> None:
        """Open the file now rather than at first use.

        Raises:
            OutboxUnavailable: It cannot be used; the message says what to do. A file that is
                damaged, newer than this version or another program's is left as it is.
        """
        for connection in (self._callers, self._workers):
            with connection.use():
                pass

    def known(self, lane: Lane, keys: Collection[str]) -> set[str]:
        """See `Outbox.known`."""
        known = set[str]()
        remaining = iter(keys)
        with self._callers.use() as db:
            lane_id = lane_id_of(db, lane)
            while some := list(islice(remaining, _VARIABLES)):
                variables = ", ".join("?" * len(some))
                rows = db.execute(
                    f"SELECT key FROM message WHERE lane = ? AND key IN ({variables})",  # noqa: S608 - question marks
                    (lane_id, *some),
                )
                known.update(key for (key,) in rows)
        return known

    def put(self, lane: Lane, drafts: Sequence[Draft], *, now: float) -> int:
        """See `Outbox.put`."""
        if not drafts:
            return 0
        new = 0
        with self._callers.transaction() as db:
            lane_id, latest = find_or_add_lane(db, lane, now)
            for draft in drafts:
                created_at = draft.message.created_at
                if latest is not None:
                    created_at = max(latest, created_at)
                if insert_unseen(db, lane_id, draft, created_at, now):
                    latest = created_at
                    new += 1
            if new and latest is not None:
                db.execute(
                    "UPDATE lane SET due = COALESCE(due, ?), latest = ?, used_at = ? WHERE id = ?",
                    (now, latest.isoformat(), now, lane_id),
                )
                self._check_limits(db)
        return new

    def _check_limits(self, db: sqlite3.Connection) -> None:
        messages, size = db.execute("SELECT messages, bytes FROM held").fetchone()
        if messages > self._max_messages or size > self._max_bytes:
            raise OutboxFull(
                f"The outbox is full: at most {self._max_messages} messages and "
                f"{self._max_bytes} bytes may wait for delivery."
            )

    def drop(self, lane: Lane, keys: Collection[str], *, now: float) -> int:
        """See `Outbox.drop`."""
        with self._callers.transaction() as db:
            lane_id = lane_id_of(db, lane)
            dropped = db.executemany(
                f"{FORGET} WHERE lane = ? AND key = ? AND state = 'waiting'",
                [(now, lane_id, key) for key in keys],
            )
            rest_if_done(db, lane_id)
            keep_newest_keys(db, lane_id, KEPT_KEYS)
            return max(0, dropped.rowcount)

    def forget(
        self, server: str, workspace: str, owner: str, *, until: float, now: float
    ) -> Sequence[Lane]:
        """See `Outbox.forget`."""
        with self._workers.transaction() as db:
            found = db.execute(
                "SELECT DISTINCT lane.id, session FROM message JOIN lane ON lane.id = lane"  # noqa: S608 - a constant
                f" WHERE server = ? AND workspace = ? AND {IS_OF_OWNER} ORDER BY session",
                (server, workspace, owner, until),
            ).fetchall()
            for lane_id, _ in found:
                db.execute(
                    f"{FORGET} WHERE lane = ? AND {IS_OF_OWNER}", (now, lane_id, owner, until)
                )
                rest_if_done(db, lane_id)
                keep_newest_keys(db, lane_id, KEPT_KEYS)
        return [Lane(server, workspace, session) for _, session in found]

    def hold(self, lane: Lane, *, holder: str, now: float, lease: float) -> Claim | None:
        """See `Outbox.hold`."""
        with self._workers.transaction() as db:
            lane_id, _ = find_or_add_lane(db, lane, now)
            failures, held_by, due = db.execute(
                "SELECT failures, holder, due FROM lane WHERE id = ?", (lane_id,)
            ).fetchone()
            is_others = held_by is not None and held_by != _named(holder)
            if is_others and due is not None and now < _ends_at(held_by, due):
                return None
            db.execute(
                "UPDATE lane SET holder = ?, due = ?, used_at = ? WHERE id = ?",
                (_named(holder), now + lease, now, lane_id),
            )
        return Claim(lane, holder, (), failures)

    def claim(
        self, server: str, *, holder: str, now: float, lease: float, limit: int, max_bytes: int
    ) -> Claim | None:
        """See `Outbox.claim`."""
        with self._workers.transaction() as db:
            db.execute(
                "UPDATE lane SET due = :latest"  # noqa: S608 - a constant
                f" WHERE server = :server AND due > :latest AND {IS_WAITED_IN}",
                {"server": server, "latest": now + LONGEST_WAIT},
            )
            due_lanes = db.execute(
                "SELECT id, workspace, session, failures, holder, due"  # noqa: S608 - a constant
                f" FROM lane WHERE server = ? AND due <= ? AND {IS_WAITED_IN} ORDER BY due, id",
                (server, now),
            )
            found = next((lane for lane in due_lanes if _ends_at(*lane[4:]) <= now), None)
            due_lanes.close()
            if found is None:
                return None
            lane_id, workspace, session, failures, *_ = found
            rows = tuple(oldest(db, lane_id, limit=limit, max_bytes=max_bytes))
            db.execute(
                "UPDATE message SET doubtful = 1"
                " WHERE lane = ? AND state = 'waiting' AND number <= ? AND NOT doubtful",
                (lane_id, rows[-1].number),
            )
            db.execute(
                "UPDATE lane SET holder = ?, due = ? WHERE id = ?",
                (_named(holder), now + lease, lane_id),
            )
        return Claim(Lane(server, workspace, session), holder, rows, failures)

    def renew(self, claim: Claim, *, now: float, lease: float) -> bool:
        """See `Outbox.renew`; a lease that has run out can be renewed until somebody claims."""
        with self._workers.transaction() as db:
            renewed = db.execute(
                "UPDATE lane SET due = ? WHERE id = ? AND holder = ?",
                (now + lease, lane_id_of(db, claim.lane), _named(claim.holder)),
            )
            return renewed.rowcount > 0

    def delivered(self, claim: Claim, numbers: Collection[int], *, now: float) -> None:
        """See `Outbox.delivered`; true whoever reports it, so a lost claim is no obstacle."""
        with self._workers.transaction() as db:
            lane_id = lane_id_of(db, claim.lane)
            ended = db.executemany(
                f"{FORGET} WHERE number = ? AND lane = ? AND state <> 'known'",
                [(now, number, lane_id) for number in numbers],
            )
            if ended.rowcount > 0:
                db.execute("UPDATE lane SET failures = 0 WHERE id = ?", (lane_id,))
                rest_if_done(db, lane_id)
                keep_newest_keys(db, lane_id, KEPT_KEYS)

    def set_aside(
        self,
        claim: Claim,
        reasons: Mapping[int, str],
        *,
        now: float,  # noqa: ARG002 - the port's, nothing depends on it here
    ) -> None:
        """See `Outbox.set_aside`; true whoever reports it, so a lost claim is no obstacle."""
        with self._workers.transaction() as db:
            lane_id = lane_id_of(db, claim.lane)
            db.executemany(
                "UPDATE message SET state = 'set_aside', reason = ?"
                " WHERE number = ? AND lane = ? AND state = 'waiting'",
                [(reason, number, lane_id) for number, reason in reasons.items()],
            )
            rest_if_done(db, lane_id)

    def release(self, claim: Claim, *, due: float, failed: bool = False) -> None:
        """See `Outbox.release`."""
        with self._workers.transaction() as db:
            db.execute(
                "UPDATE lane SET holder = NULL, failures = failures + ?,"  # noqa: S608 - a constant
                f" due = CASE WHEN {IS_WAITED_IN} THEN ? END WHERE id = ? AND holder = ?",
                (failed, due, lane_id_of(db, claim.lane), _named(claim.holder)),
            )

    def next_due(self, server: str) -> float | None:
        """See `Outbox.next_due`."""
        with self._workers.use() as db:
            lanes = db.execute(
                "SELECT holder, due FROM lane"  # noqa: S608 - a constant
                f" WHERE server = ? AND due IS NOT NULL AND {IS_WAITED_IN} ORDER BY due",
                (server,),
            )
            earliest = math.inf
            for holder, due in lanes:
                if earliest <= due:
                    break
                earliest = min(earliest, _ends_at(holder, due))
            lanes.close()
        return None if earliest == math.inf else earliest

    def tally(self, server: str) -> Tally:
        """See `Outbox.tally`."""
        with self._workers.use() as db:
            counts = db.execute(
                "SELECT message.state, lane.server = ?, COUNT(*)"
                " FROM message JOIN lane ON lane.id = message.lane"
                " WHERE message.state = 'waiting' OR message.state = 'set_aside' GROUP BY 1, 2",
                (server,),
            ).fetchall()
        by_kind = {(state, bool(is_here)): count for state, is_here, count in counts}
        return Tally(
            waiting=by_kind.get(("waiting", True), 0),
            set_aside=by_kind.get(("set_aside", True), 0),
            elsewhere=by_kind.get(("waiting", False), 0),
        )

    def servers(self) -> Sequence[str]:
        """See `Outbox.servers`."""
        with self._workers.use() as db:
            found = db.execute(
                "SELECT DISTINCT server FROM lane JOIN message ON lane.id = message.lane"
                " WHERE state = 'waiting' OR state = 'set_aside' ORDER BY server"
            ).fetchall()
        return [server for (server,) in found]

    def queued(self, server: str) -> Sequence[Queued]:
        """See `Outbox.queued`."""
        with self._workers.use() as db:
            rows = db.execute(
                f"SELECT number, workspace, session, accepted_at, {MESSAGE}"  # noqa: S608 - a constant
                " FROM message JOIN lane ON lane.id = message.lane"
                " WHERE state = 'waiting' AND server = ? ORDER BY number",
                (server,),
            )
            return [
                Queued(number, Lane(server, workspace, session), to_message(*message), accepted_at)
                for number, workspace, session, accepted_at, *message in rows
            ]

    def refused(self, server: str) -> Sequence[Refused]:
        """See `Outbox.refused`."""
        with self._workers.use() as db:
            rows = db.execute(
                f"SELECT number, workspace, session, reason, {MESSAGE}"  # noqa: S608 - a constant
                " FROM message JOIN lane ON lane.id = message.lane"
                " WHERE state = 'set_aside' AND server = ? ORDER BY number",
                (server,),
            )
            return [
                Refused(number, Lane(server, workspace, session), to_message(*message), reason)
                for number, workspace, session, reason, *message in rows
            ]

    def retry(self, numbers: Collection[int], *, now: float) -> int:
        """See `Outbox.retry`."""
        with self._workers.transaction() as db:
            return sum(retry(db, number, now) for number in numbers)

    def discard(self, numbers: Collection[int], *, now: float) -> int:
        """See `Outbox.discard`."""
        with self._workers.transaction() as db:
            discarded = db.executemany(
                f"{FORGET} WHERE number = ? AND state = 'set_aside'",
                [(now, number) for number in numbers],
            )
            return max(0, discarded.rowcount)

    def mark(self, server: str, name: str, value: str) -> None:
        """See `Outbox.mark`."""
        with self._workers.transaction() as db:
            db.execute(
                "REPLACE INTO mark (server, name, value) VALUES (?, ?, ?)", (server, name, value)
            )

    def marked(self, server: str, name: str) -> str | None:
        """See `Outbox.marked`."""
        with self._workers.use() as db:
            found = db.execute(
                "SELECT value FROM mark WHERE server = ? AND name = ?", (server, name)
            ).fetchone()
        return None if found is None else str(found[0])

    def tidy(self, *, now: float) -> None:
        """See `Outbox.tidy`."""
        with self._workers.transaction() as db:
            # A bounded number of rows, since callers cannot put meanwhile.
            db.execute(
                "DELETE FROM message WHERE number IN ("
                "SELECT number FROM message WHERE state = 'known' AND ended_at < ? LIMIT ?)",
                (now - KEPT_KEYS_SECONDS, _TIDY_AT_ONCE),
            )
            db.execute(
                "DELETE FROM lane WHERE id IN ("
                "SELECT id FROM lane WHERE used_at < ? AND NOT EXISTS ("
                "SELECT 1 FROM message WHERE message.lane = lane.id) LIMIT ?)",
                (now - KEPT_LANES_SECONDS, _TIDY_AT_ONCE),
            )
            # Of holders that vanished between their delivery and the release.
            db.execute(
                "UPDATE lane SET holder = NULL, due = NULL"  # noqa: S608 - a constant
                f" WHERE due <= ? AND NOT {IS_WAITED_IN}",
                (now,),
            )
        self._workers.empty_log()

    def close(self) -> None:
        """See `Outbox.close`."""
        self._callers.close()
        self._workers.close()


def _named(holder: str) -> str:
    """A holder, with the process that it is of."""
    return f"{this_process()}/{holder}"


def _ends_at(holder: str | None, due: float) -> float:
    """When a lane can be claimed."""
    process = (holder or "").partition("/")[0]
    return due + LONGEST_SLEEP if lives_elsewhere(process) else due
