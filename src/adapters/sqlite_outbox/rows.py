"""The statements that the outbox is made of; whoever calls them has begun a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import datetime

from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Draft, Lane, Waiting

# An end of a message: its key stays, all that was said goes.
FORGET = """
    UPDATE message SET state = 'known', ended_at = ?, size = 0, author = '', content = '',
        owner = '', created_at = '', metadata = '', builtin_digest = NULL, reason = NULL
"""
IS_OF_OWNER = "owner = ? AND said_at <= ? AND state <> 'known'"
MESSAGE = "key, author, content, created_at, metadata"
IS_WAITED_IN = """
    EXISTS (SELECT 1 FROM message WHERE message.lane = lane.id AND message.state = 'waiting')
"""


def lane_id_of(db: sqlite3.Connection, lane: Lane) -> int | None:
    """The row of a lane; None, which no row equals, for a lane that is not there."""
    found = db.execute(
        "SELECT id FROM lane WHERE server = ? AND workspace = ? AND session = ?",
        (lane.server, lane.workspace, lane.session),
    ).fetchone()
    return None if found is None else int(found[0])


def find_or_add_lane(db: sqlite3.Connection, lane: Lane, now: float) -> tuple[int, datetime | None]:
    """The row of a lane, and the time of the last message that it accepted."""
    db.execute(
        "INSERT INTO lane (server, workspace, session, used_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (lane.server, lane.workspace, lane.session, now),
    )
    lane_id, latest = db.execute(
        "SELECT id, latest FROM lane WHERE server = ? AND workspace = ? AND session = ?",
        (lane.server, lane.workspace, lane.session),
    ).fetchone()
    return lane_id, None if latest is None else datetime.fromisoformat(latest)


def insert_unseen(
    db: sqlite3.Connection, lane_id: int, draft: Draft, created_at: datetime, now: float
) -> bool:
    """Let a draft wait; False when the lane has seen its key."""
    message = draft.message
    inserted = db.execute(
        "INSERT INTO message (lane, key, doubtful, accepted_at, size, owner, said_at, author,"
        " content, created_at, metadata, builtin_digest)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (
            lane_id,
            message.key,
            draft.doubtful,
            now,
            len(message.content.encode()),
            draft.owner,
            draft.said_at,
            message.author,
            message.content,
            created_at.isoformat(),
            json.dumps(dict(message.metadata)),
            draft.builtin_digest,
        ),
    )
    return inserted.rowcount > 0


def oldest(
    db: sqlite3.Connection, lane_id: int, *, limit: int, max_bytes: int
) -> Iterator[Waiting]:
    """What has waited longest in a lane, within the limits but at least one message."""
    rows = db.execute(
        "SELECT number, doubtful, builtin_digest, accepted_at, owner, said_at, size,"  # noqa: S608 - a constant
        f" {MESSAGE} FROM message WHERE lane = ? AND state = 'waiting' ORDER BY number LIMIT ?",
        (lane_id, limit),
    )
    total = 0
    for number, doubtful, digest, accepted_at, owner, said_at, size, *message in rows:
        if total and total + size > max_bytes:
            break
        total += size
        yield Waiting(
            number, to_message(*message), bool(doubtful), digest, accepted_at, owner, said_at
        )


def to_message(key: str, author: str, content: str, created_at: str, metadata: str) -> Outgoing:
    """A message from the columns of `MESSAGE`."""
    return Outgoing(key, author, content, datetime.fromisoformat(created_at), json.loads(metadata))


def rest_if_done(db: sqlite3.Connection, lane_id: int | None) -> None:
    """Make a lane idle that nobody holds and that has nothing left to deliver."""
    db.execute(
        f"UPDATE lane SET due = NULL WHERE id = ? AND holder IS NULL AND NOT {IS_WAITED_IN}",  # noqa: S608 - a constant
        (lane_id,),
    )


def keep_newest_keys(db: sqlite3.Connection, lane_id: int | None, count: int) -> None:
    """Delete the keys of a lane's ended messages, but for the newest."""
    db.execute(
        "DELETE FROM message WHERE lane = :lane AND state = 'known' AND number <= ("
        "SELECT number FROM message WHERE lane = :lane AND state = 'known'"
        " ORDER BY number DESC LIMIT 1 OFFSET :count)",
        {"lane": lane_id, "count": count},
    )


def retry(db: sqlite3.Connection, number: int, now: float) -> bool:
    """Let a message wait again; False when it was not set aside."""
    retried = db.execute(
        "UPDATE message SET state = 'waiting', reason = NULL, doubtful = 1"
        " WHERE number = ? AND state = 'set_aside'",
        (number,),
    )
    if not retried.rowcount:
        return False
    db.execute(
        "UPDATE lane SET due = COALESCE(due, ?)"
        " WHERE id = (SELECT lane FROM message WHERE number = ?)",
        (now, number),
    )
    return True
