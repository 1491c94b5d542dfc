"""The durable outbox: turn messages in one SQLite file until they are delivered."""

from honcho_memory.adapters.sqlite_outbox.outbox import SqliteOutbox

__all__ = ["SqliteOutbox"]
