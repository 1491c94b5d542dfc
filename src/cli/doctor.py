"""Looking at a deployment, and saying what is wrong with it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer
import yaml
from rich.console import Console
from rich.markup import escape

from honcho_memory.adapters.in_memory import InMemoryOutbox
from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.application.diagnosis import Finding, Patient, Verdict, diagnose
from honcho_memory.bootstrap import OUTBOX_FILE, build
from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.ports.outbox import Outbox
from honcho_memory.settings import Settings

MARKS = {
    Verdict.OK: "[green]ok     [/]",
    Verdict.WARNING: "[yellow]warning[/]",
    Verdict.PROBLEM: "[red]problem[/]",
}


def doctor(
    config: Annotated[
        Path | None,
        typer.Option(
            help="The settings as YAML or JSON: DeerFlow's config.yaml, or a file with the "
            "settings alone."
        ),
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="As in the settings.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="As in the settings.")
    ] = None,
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
        mapping = {**(_read(config) if config else {})}
        mapping |= {name: value for name, value in given.items() if value is not None}
        settings = Settings.from_mapping(mapping)
    except ConfigurationError as error:
        return [Finding("settings", Verdict.PROBLEM, str(error))]
    # Nothing is to be delivered or created on disk: whatever outbox there is, is only looked at.
    container = build(settings.model_copy(update={"storage_path": "", "delivery": None}))
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


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        # Not the error's own text: a parser quotes lines, and one may hold a key.
        raise ConfigurationError(f"{path} cannot be read: {type(error).__name__}") from None
    if not isinstance(content, Mapping):
        raise ConfigurationError(f"{path} must hold a mapping")
    settings = cast("Mapping[str, Any]", content)
    memory = settings.get("memory")
    if not isinstance(memory, Mapping):
        return settings
    of_backend = cast("Mapping[str, Any]", memory).get("backend_config")
    return cast("Mapping[str, Any]", of_backend) if isinstance(of_backend, Mapping) else {}


def _outbox(settings: Settings) -> Outbox | None:
    if not settings.storage_path:
        return None
    path = Path(settings.storage_path) / OUTBOX_FILE
    # A storage path that was never used holds nothing; looking must not create it.
    return SqliteOutbox(path) if path.exists() else InMemoryOutbox()
