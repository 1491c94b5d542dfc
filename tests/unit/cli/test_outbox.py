"""The command that looks into an outbox."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.bootstrap import OUTBOX_FILE
from honcho_memory.cli.app import app
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Draft, Lane, Tally

SERVER = "http://honcho"
LANE = Lane(SERVER, "ws", "df-t")
NOW = 1_796_083_200.0


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[SqliteOutbox]:
    """An outbox with one message that was set aside and one that waits."""
    outbox = SqliteOutbox(tmp_path / OUTBOX_FILE)
    for text in ("the bad one", "the good one"):
        message = Outgoing(text, "ada", text, datetime(2026, 3, 1, tzinfo=UTC), {})
        outbox.put(LANE, [Draft(message)], now=NOW)
    claim = outbox.claim(SERVER, holder="x", now=NOW, lease=9, limit=1, max_bytes=999)
    assert claim is not None
    outbox.set_aside(claim, {claim.rows[0].number: "too [long]"}, now=NOW)
    yield outbox
    outbox.close()


def run(outbox_folder: Path, *args: str) -> tuple[int, str]:
    """Run `honcho-memory outbox`; returns its exit code and what it printed."""
    command = ["outbox", *args, "--storage-path", str(outbox_folder)]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "250"})
    return result.exit_code, result.output


@pytest.mark.usefixtures("outbox")
def test_lists_without_content_unless_asked(tmp_path: Path) -> None:
    """An operator sees what is held and why, and what was said only on request."""
    code, output = run(tmp_path, "list")

    assert 0 == code
    for part in ("set aside: too [long]", "waits since 2026-12-01", SERVER, "df-t", "ada"):
        assert part in output
    assert "good one" not in output
    assert "the good one" in run(tmp_path, "list", "--content")[1]


def test_retries_and_discards_what_was_set_aside(outbox: SqliteOutbox, tmp_path: Path) -> None:
    """The decision is the operator's; what waits is not touched."""
    (bad,) = outbox.refused(SERVER)
    (good,) = outbox.queued(SERVER)

    assert (0, "1 of 1 messages wait for delivery again.\n") == run(
        tmp_path, "retry", str(bad.number)
    )
    assert Tally(waiting=2) == outbox.tally(SERVER)
    code, output = run(tmp_path, "discard", str(good.number))
    assert (1, True) == (code, "0 of 1 messages are given up." in output)
    assert "not set aside" in output


def test_an_empty_outbox_says_so(tmp_path: Path) -> None:
    """Nothing to see is a good sign, and no error."""
    with closing(SqliteOutbox(tmp_path / OUTBOX_FILE)) as outbox:
        outbox.open()

    assert (0, "Nothing waits, and nothing was set aside.\n") == run(tmp_path, "list")


def test_a_folder_without_an_outbox_is_named(tmp_path: Path) -> None:
    """A wrong path is not mistaken for an empty outbox, and nothing is created."""
    code, output = run(tmp_path, "list")

    assert 1 == code
    assert "there is no outbox at" in output
    assert [] == list(tmp_path.iterdir())


def test_a_damaged_outbox_is_named(tmp_path: Path) -> None:
    """What cannot be read says so in one line."""
    path = tmp_path / OUTBOX_FILE
    path.parent.mkdir()
    path.write_bytes(b"no database" * 100)

    code, output = run(tmp_path, "list")

    assert 1 == code
    assert "outbox" in output
    assert "Traceback" not in output
