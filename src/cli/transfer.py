"""Taking a user's memory out of Honcho as a file, and into it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from honcho_memory.bootstrap import open_memory
from honcho_memory.cli.failing import fail
from honcho_memory.cli.settings_file import (
    ApiKeyEnv,
    BaseUrl,
    Config,
    read_settings,
    without_outbox,
)
from honcho_memory.domain.document import to_mapping
from honcho_memory.domain.errors import HonchoMemoryError, HonchoRequestError, InvalidFact
from honcho_memory.domain.results import Imported
from honcho_memory.ports.host import MemoryManagement
from honcho_memory.settings import Settings

STANDARD_STREAM = Path("-")

User = Annotated[str, typer.Option(help="The host's id of the user.")]


def export_memory(
    file: Annotated[
        Path, typer.Argument(help="Where to; standard output without one.", show_default=False)
    ] = STANDARD_STREAM,
    *,
    user: User,
    config: Config = None,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
) -> None:
    """Write all that is known of a user as JSON, in the shape of DeerFlow's memory document."""
    with _failing():
        settings = read_settings(config, {"base_url": base_url, "api_key_env": api_key_env})
        with _memory(settings) as memory:
            document = memory.export(user)
        mapping = to_mapping(document, datetime.now(UTC), budget=settings.max_injection_chars)
        _write(file, json.dumps(mapping, ensure_ascii=False, indent=2) + "\n")
    Console(stderr=True).print(f"Exported: {len(document.facts)} facts.")


def import_memory(
    file: Annotated[Path, typer.Argument(help="A memory document as JSON; - for standard input.")],
    *,
    user: User,
    config: Config = None,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
) -> None:
    """Take over a memory document: of DeerFlow's default memory (memory.json), or an export.

    What is known already is left alone, so that importing again changes nothing.
    """
    with _failing():
        settings = read_settings(config, {"base_url": base_url, "api_key_env": api_key_env})
        document = _read(file)
        with _memory(settings) as memory, _progress() as progress:
            imported = _import(memory, document, user, progress)
    _report(imported)


def _import(
    memory: MemoryManagement, document: object, user: str, progress: Callable[[int, int], None]
) -> Imported:
    try:
        return memory.import_document(document, user_id=user, progress=progress)
    except HonchoRequestError as error:
        raise HonchoMemoryError(
            f"{error}; what was imported so far stays, and importing again adds the rest"
        ) from error


def _report(imported: Imported) -> None:
    console = Console(stderr=True)
    for skipped in imported.skipped:
        console.print(f"[yellow]{escape(skipped.place)} is skipped:[/] {escape(skipped.reason)}")
    console.print(
        f"Imported: {imported.added} facts; {imported.duplicates} were known already, "
        f"{len(imported.skipped)} were skipped."
    )


@contextmanager
def _memory(settings: Settings) -> Generator[MemoryManagement]:
    memory = open_memory(without_outbox(settings))
    try:
        yield memory
    finally:
        memory.close()


@contextmanager
def _progress() -> Generator[Callable[[int, int], None]]:
    columns = (TextColumn("facts"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as shown:
        task = shown.add_task("import", total=None)

        def progress(done: int, total: int) -> None:
            shown.update(task, completed=done, total=total)

        yield progress


@contextmanager
def _failing() -> Generator[None]:
    try:
        yield
    except HonchoMemoryError as error:
        fail(error)


def _read(file: Path) -> Any:
    try:
        if file == STANDARD_STREAM:
            return json.load(typer.get_text_stream("stdin"))
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidFact(f"{file} cannot be read as JSON: {error}") from error


def _write(file: Path, text: str) -> None:
    """Write all or nothing, for the owner's eyes only."""
    if file == STANDARD_STREAM:
        typer.get_text_stream("stdout").write(text)
        return
    try:
        if file.exists() and not file.is_file():  # a pipe or a device is not to be replaced
            file.write_text(text, encoding="utf-8")
            return
        file = file.resolve()
        descriptor, unfinished = tempfile.mkstemp(dir=file.parent, prefix=".honcho-memory-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(unfinished).replace(file)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise HonchoMemoryError(f"{file} cannot be written: {error.strerror}") from error
