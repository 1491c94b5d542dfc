"""Processes that share an outbox, die with it open, or are forked from one another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Draft, Lane, Tally

SERVER = "http://127.0.0.1:8000"
LANE = Lane(SERVER, "workspace", "session")
NOW = 1_000_000_000.0

PRELUDE = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Draft, Lane

NOW = 1_000_000_000.0
path, name = Path(sys.argv[1]), sys.argv[2]
outbox = SqliteOutbox(path)

def put(session, key):
    message = Outgoing(key, "alice", "Hello", datetime(2026, 1, 1, tzinfo=UTC))
    outbox.put(Lane("http://127.0.0.1:8000", "workspace", session), [Draft(message)], now=NOW)
"""

PUT_FOR_EVER = """
number = 0
while True:
    put("session", f"k{number}")
    print(f"k{number}", flush=True)
    number += 1
"""

PUT_AND_CARRY = """
sys.stdin.readline()
idle = number = 0
while number < 40 or idle < 20:
    if number < 40:
        put(f"session-{number % 2}", f"{name}-{number}")
    number += 1
    claim = outbox.claim("http://127.0.0.1:8000", holder=name, now=NOW, lease=1e6, limit=3,
                         max_bytes=1000)
    if claim is None:
        idle += 1
        continue
    idle = 0
    held = path.with_name(claim.lane.session)
    os.close(os.open(held, os.O_CREAT | os.O_EXCL))
    for row in claim.rows:
        print(claim.lane.session, row.number, row.message.key)
    outbox.delivered(claim, [row.number for row in claim.rows], now=NOW)
    os.unlink(held)
    outbox.release(claim, due=NOW)
outbox.close()
"""


def put(outbox: SqliteOutbox, key: str) -> int:
    message = Outgoing(key, "alice", "Hello", datetime(2026, 1, 1, tzinfo=UTC))
    return outbox.put(LANE, [Draft(message)], now=NOW)


def waiting(outbox: SqliteOutbox) -> list[str]:
    claim = outbox.claim(SERVER, holder="h", now=NOW, lease=60, limit=10_000, max_bytes=10**6)
    return [] if claim is None else [row.message.key for row in claim.rows]


def start(path: Path, script: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.db"


@pytest.fixture
def outbox(path: Path) -> Iterator[SqliteOutbox]:
    with closing(SqliteOutbox(path)) as outbox:
        yield outbox


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_process_loses_nothing(path: Path, outbox: SqliteOutbox) -> None:
    """Whatever `put` has returned for is there after a SIGKILL, in order."""
    with start(path, PUT_FOR_EVER, "a") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(50)]
        process.send_signal(signal.SIGKILL)
        said = "".join([*lines, process.stdout.read()]).split()

    kept = waiting(outbox)

    assert said == kept[: len(said)]
    assert [f"k{number}" for number in range(len(kept))] == kept
    assert len(kept) - len(said) <= 1


def test_processes_share_an_outbox(path: Path, outbox: SqliteOutbox) -> None:
    """Two processes that put and deliver at once keep order, and hold no lane together."""
    processes = [start(path, PUT_AND_CARRY, name) for name in ("x", "y")]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in processes]

    assert [0, 0] == [process.returncode for process in processes]
    rows = [line.split() for output in outputs for line in output.splitlines()]
    assert sorted(f"{name}-{i}" for name in "xy" for i in range(40)) == sorted(
        key for _, _, key in rows
    )
    by_writer: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for session, _, key in sorted(rows, key=lambda row: int(row[1])):
        name, number = key.split("-")
        by_writer[session, name].append(int(number))
    assert all(numbers == sorted(numbers) for numbers in by_writer.values())
    for output in outputs:
        for session in ("session-0", "session-1"):
            own = [int(line.split()[1]) for line in output.splitlines() if session in line]
            assert own == sorted(own)
    assert outbox.tally(SERVER) == Tally()


def in_child(action: Callable[[], None]) -> int:
    """Run something in a forked child; its process id."""
    process_id = os.fork()
    if process_id:
        return process_id
    status = 1
    try:
        action()
        status = 0
    finally:
        os._exit(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_shares_no_connection(path: Path, outbox: SqliteOutbox) -> None:
    """A parent that closes does not take away the log that its forked child writes to."""
    put(outbox, "before the fork")
    child_is_ready, say_ready = os.pipe()
    parent_has_closed, say_closed = os.pipe()

    def put_while_the_parent_closes() -> None:
        put(outbox, "child")
        os.write(say_ready, b".")
        os.read(parent_has_closed, 1)
        put(outbox, "child, later")

    child = in_child(put_while_the_parent_closes)
    os.read(child_is_ready, 1)
    put(outbox, "parent")
    outbox.close()
    os.write(say_closed, b".")
    _, status = os.waitpid(child, 0)
    for descriptor in (child_is_ready, say_ready, parent_has_closed, say_closed):
        os.close(descriptor)

    assert os.waitstatus_to_exitcode(status) == 0
    with closing(SqliteOutbox(path)) as next_one:
        assert ["before the fork", "child", "parent", "child, later"] == waiting(next_one)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_closed_outbox_stays_closed_in_a_fork(outbox: SqliteOutbox) -> None:
    """A fork neither opens nor needs an outbox that is closed or was never opened."""
    unused = SqliteOutbox(Path("nowhere") / "outbox.db")
    outbox.close()

    child = in_child(unused.close)

    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
