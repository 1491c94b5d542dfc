"""Looking at a deployment, and saying what is wrong with it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from honcho_memory.adapters.in_memory import InMemoryOutbox
from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.application.diagnosis import Finding, Patient, Verdict, diagnose
from honcho_memory.bootstrap import OUTBOX_FILE, build
from honcho_memory.cli.settings_file import (
    ApiKeyEnv,
    BaseUrl,
    Config,
    read_settings,
    without_outbox,
)
from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.ports.outbox import Outbox
from honcho_memory.settings import Settings

MARKS = {
    Verdict.OK: "[green]ok     [/]",
    Verdict.WARNING: "[yellow]warning[/]",
    Verdict.PROBLEM: "[red]problem[/]",
}


def doctor(
    config: Config = None,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    storage_path: Annotated[str | None, typer.Option(help="As in the settings.")] = None,
    *,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Also write a message, in a scratch workspace, and remove it."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check settings, server, key, clock, outbox and ids; exit code 1 where there is a problem."""
    given = {"base_url": base_url, "api_key_env": api_key_env, "storage_path": storage_path}
    findings = _findings(config, given, with_write=write)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        console = Console()
        for finding in findings:
            console.print(f"{MARKS[finding.verdict]} {finding.check}: {escape(finding.text)}")
    if any(finding.verdict is Verdict.PROBLEM for finding in findings):
        raise typer.Exit(1)


def _findings(
    config: Path | None, given: Mapping[str, str | None], *, with_write: bool
) -> list[Finding]:
    try:
        settings = read_settings(config, given)
        # Nothing is to be delivered or created on disk: what outbox there is, is only looked at.
        container = build(without_outbox(settings))
    except ConfigurationError as error:
        return [Finding("settings", Verdict.PROBLEM, str(error))]
    outbox = _outbox(settings)
    try:
        patient = Patient(
            server=settings.base_url,
            honcho=container.honcho(),
            outbox=outbox,
            workspace_prefix=settings.workspace_prefix,
            digest_chars=settings.id_digest_chars,
            timeout=settings.timeout_seconds,
            clock=time,
        )
        checked = diagnose(patient, with_write=with_write, sleep=time.sleep)
        return [Finding("settings", Verdict.OK, "the settings are valid"), *checked]
    finally:
        if outbox is not None:
            outbox.close()
        container.shutdown_resources()


def _outbox(settings: Settings) -> Outbox | None:
    if not settings.storage_path:
        return None
    path = Path(settings.storage_path) / OUTBOX_FILE
    # A storage path that was never used holds nothing; looking must not create it.
    return SqliteOutbox(path) if path.exists() else InMemoryOutbox()
