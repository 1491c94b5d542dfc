"""Looking into an outbox on disk, and deciding about what Honcho refused."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.bootstrap import OUTBOX_FILE
from honcho_memory.cli.failing import fail
from honcho_memory.domain.errors import OutboxError
from honcho_memory.ports.outbox import Outbox, Queued, Refused

app = typer.Typer(
    help="Look into an outbox: what waits, what Honcho refused; retry it or discard it.",
    no_args_is_help=True,
)

StoragePath = Annotated[
    Path,
    typer.Option(envvar="HONCHO_MEMORY_STORAGE_PATH", help="The storage_path of the settings."),
]
Numbers = Annotated[list[int], typer.Argument(help="As `list` shows them.", metavar="NUMBER...")]


@app.command("list")
def list_messages(
    storage_path: StoragePath,
    *,
    content: Annotated[
        bool, typer.Option("--content", help="Show what was said, not only that it was.")
    ] = False,
) -> None:
    """Show the messages that wait and those that were set aside."""
    with _open(storage_path) as outbox:
        rows: list[Queued | Refused] = []
        for server in outbox.servers():
            rows.extend(outbox.queued(server))
            rows.extend(outbox.refused(server))
    console = Console()
    if not rows:
        console.print("Nothing waits, and nothing was set aside.")
        return
    console.print(_table(rows, with_content=content))


@app.command()
def retry(storage_path: StoragePath, numbers: Numbers) -> None:
    """Let messages that were set aside wait for delivery again."""
    with _open(storage_path) as outbox:
        count = outbox.retry(numbers, now=time.time())
    _report(count, numbers, "wait for delivery again")


@app.command()
def discard(storage_path: StoragePath, numbers: Numbers) -> None:
    """Give up messages that were set aside, for good."""
    with _open(storage_path) as outbox:
        count = outbox.discard(numbers, now=time.time())
    _report(count, numbers, "are given up")


@contextmanager
def _open(storage_path: Path) -> Generator[Outbox, None, None]:
    path = storage_path / OUTBOX_FILE
    if not path.is_file():
        fail(OutboxError(f"there is no outbox at {path}"))
    outbox = SqliteOutbox(path)
    try:
        yield outbox
    except OutboxError as error:
        fail(error)
    finally:
        outbox.close()


def _table(rows: list[Queued | Refused], *, with_content: bool) -> Table:
    table = Table()
    headings = ["number", "state", "server", "workspace", "session", "said at", "author"]
    for heading in [*headings, *(["content"] if with_content else [])]:
        table.add_column(heading, overflow="fold")
    for row in rows:
        state = f"set aside: {row.reason}" if isinstance(row, Refused) else _since(row)
        lane, message = row.lane, row.message
        cells = [
            str(row.number),
            state,
            lane.server,
            lane.workspace,
            lane.session,
            f"{message.created_at:%Y-%m-%d %H:%M}",
            message.author,
            *([message.content] if with_content else []),
        ]
        table.add_row(*map(escape, cells))
    return table


def _since(row: Queued) -> str:
    return f"waits since {datetime.fromtimestamp(row.accepted_at, UTC):%Y-%m-%d %H:%M} UTC"


def _report(count: int, numbers: list[int], what: str) -> None:
    wanted = len(set(numbers))
    Console().print(f"{count} of {wanted} messages {what}.")
    if count < wanted:
        Console(stderr=True).print(
            "The others were not set aside: see `honcho-memory outbox list`."
        )
        raise typer.Exit(1)
