"""A lease outlasts its end while another process that has it is alive, also one that is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.adapters.sqlite_outbox.outbox import LONGEST_SLEEP
from honcho_memory.adapters.sqlite_outbox.processes import lives_elsewhere, this_process
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Claim, Draft, Lane

SERVER = "http://honcho.example"
LANE = Lane(SERVER, "workspace", "session")
LEASE = 10.0
HOLDER = """
import sys
from pathlib import Path
from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.adapters.sqlite_outbox.processes import this_process
outbox = SqliteOutbox(Path(sys.argv[1]))
claim = outbox.claim(sys.argv[2], holder="other", now=0.0, lease=10.0, limit=9, max_bytes=999)
assert claim is not None
print(this_process(), flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are told apart on POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file in which one message waits."""
    path = tmp_path / "outbox.sqlite3"
    outbox = SqliteOutbox(path)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    outbox.put(LANE, [Draft(Outgoing("k", "ada", "Hello", moment, {}))], now=0.0)
    outbox.close()
    return path


@pytest.fixture
def other(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which has claimed it."""
    command = [sys.executable, "-c", HOLDER, str(path), SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.fixture
def outbox(path: Path) -> Iterator[SqliteOutbox]:
    """The outbox of this process on the same file."""
    outbox = SqliteOutbox(path)
    yield outbox
    outbox.close()


def name_of(process: subprocess.Popen[str]) -> str:
    """What a process calls itself, when it has claimed."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def claim(outbox: SqliteOutbox, now: float) -> Claim | None:
    """Claim what is due."""
    return outbox.claim(SERVER, holder="me", now=now, lease=LEASE, limit=9, max_bytes=999)


def test_a_stopped_process_keeps_its_lease(
    outbox: SqliteOutbox, other: subprocess.Popen[str]
) -> None:
    """It may be about to send, and would when it goes on; not so when it has slept for long."""
    name_of(other)
    other.send_signal(signal.SIGSTOP)

    assert claim(outbox, now=LEASE + 1) is None
    assert outbox.hold(LANE, holder="me", now=LEASE + 1, lease=LEASE) is None
    assert LEASE + LONGEST_SLEEP == outbox.next_due(SERVER)
    assert claim(outbox, now=LEASE + LONGEST_SLEEP) is not None


def test_a_dead_one_does_not(outbox: SqliteOutbox, other: subprocess.Popen[str]) -> None:
    """What it had in hand is delivered by others when its lease is over, as it ever was."""
    name_of(other)
    other.kill()
    other.wait()

    assert claim(outbox, now=LEASE - 1) is None
    assert LEASE == outbox.next_due(SERVER)
    assert claim(outbox, now=LEASE) is not None


def test_a_dead_one_is_known_before_its_parent_has_noticed(other: subprocess.Popen[str]) -> None:
    """It is there until then, and does nothing any more."""
    name = name_of(other)
    assert lives_elsewhere(name)

    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)

    assert not lives_elsewhere(name)


def test_lanes_of_others_do_not_hide_what_is_due(
    outbox: SqliteOutbox, other: subprocess.Popen[str]
) -> None:
    """What waits behind a lane that another process keeps is claimed all the same."""
    name_of(other)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    second = Lane(SERVER, "workspace", "second")
    outbox.put(second, [Draft(Outgoing("k", "ada", "Hello", moment, {}))], now=LEASE + 5)

    assert LEASE + 5 == outbox.next_due(SERVER)
    claimed = claim(outbox, now=LEASE + 5)
    assert claimed is not None
    assert second == claimed.lane


def test_names_are_of_processes_not_of_their_numbers(other: subprocess.Popen[str]) -> None:
    """A number is given again; this process, and what is no name, live nowhere else."""
    name = name_of(other)
    pid = name.partition("-")[0]

    assert [False, False, False, False] == [
        lives_elsewhere(each) for each in (this_process(), f"{pid}-0", "", "holder")
    ]
    assert not lives_elsewhere(f"{10**9}-1")


def test_without_proc_the_number_has_to_do(
    other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS; where a process cannot even be asked for, everybody is taken for dead."""
    name_of(other)

    def nothing(_pid: int) -> None:
        return None

    monkeypatch.setattr("honcho_memory.adapters.sqlite_outbox.processes._stat", nothing)

    assert lives_elsewhere(f"{other.pid}-")
    assert lives_elsewhere("1-")  # somebody else's
    assert not lives_elsewhere(f"{10**9}-")
    assert not lives_elsewhere(f"{10**30}-")
    monkeypatch.setattr(os, "name", "nt")
    assert not lives_elsewhere(f"{other.pid}-")
