"""The command that looks at a deployment."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.bootstrap import OUTBOX_FILE
from honcho_memory.cli.app import app
from honcho_memory.testing.strict_honcho import RunningServer, running_server


@pytest.fixture
def server() -> Iterator[RunningServer]:
    """A strict Honcho that takes one key."""
    with running_server(tokens={"obviously-fake-key": None}) as running:
        yield running


def doctor(*args: str, **env: str) -> tuple[int, str]:
    """Run `honcho-memory doctor`; returns its exit code and what it printed."""
    result = CliRunner().invoke(app, ["doctor", *args], env={"COLUMNS": "300", **env})
    return result.exit_code, result.output


def config_of(tmp_path: Path, text: str) -> str:
    """A file with settings."""
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return str(path)


def test_reads_deerflows_configuration(server: RunningServer, tmp_path: Path) -> None:
    """DeerFlow's own file says what to look at, key included."""
    config = config_of(
        tmp_path,
        f"""
        memory:
          backend_config:
            base_url: {server.url}
            api_key: $DOCTOR_TEST_KEY
            allow_insecure_http: true
            storage_path: {tmp_path}
        """,
    )

    code, output = doctor("--config", config, DOCTOR_TEST_KEY="obviously-fake-key")

    assert 0 == code
    assert "ok      server" in output
    assert "obviously-fake-key" not in output
    assert not (tmp_path / OUTBOX_FILE).exists()


def test_a_wrong_key_is_a_problem(server: RunningServer, tmp_path: Path) -> None:
    """The exit code tells a script what the words tell a person."""
    config = config_of(
        tmp_path, f"{{base_url: '{server.url}', api_key: wrong, allow_insecure_http: true}}"
    )

    code, output = doctor("--config", config)

    assert 1 == code
    assert "refuses the key" in output


def test_findings_as_json(tmp_path: Path) -> None:
    """A monitoring system gets the same findings."""
    with closing(SqliteOutbox(tmp_path / OUTBOX_FILE)) as outbox:
        outbox.open()
    code, output = doctor(
        "--base-url", "http://127.0.0.1:9", "--storage-path", str(tmp_path), "--json"
    )

    findings = json.loads(output)
    assert 1 == code
    assert {"settings": "ok", "server": "problem", "outbox": "ok", "ids": "warning"} == {
        finding["check"]: finding["verdict"] for finding in findings
    }


def test_writes_and_removes_on_request() -> None:
    """With `--write` a message makes the round trip, and nothing of it stays."""
    with running_server() as server:
        server.finish_deletions()
        code, output = doctor("--base-url", server.url, "--write")
        server.finish_deletions()

        assert (0, True) == (code, "written, found and removed" in output)
        assert [] == list(server.state.workspaces())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("base_url: ftp://x", "base_url must be"),
        ("{key: [", "cannot be read: "),
        ("just text", "must hold a mapping"),
        ("memory: {backend_config: {timeout_seconds: -1}}", "timeout_seconds must be"),
    ],
)
def test_wrong_settings_are_a_problem(tmp_path: Path, text: str, words: str) -> None:
    """What is wrong with the settings is the first thing to mend."""
    code, output = doctor("--config", config_of(tmp_path, text))

    assert 1 == code
    assert words in output


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A wrong path says so."""
    code, output = doctor("--config", str(tmp_path / "missing.yaml"))

    assert 1 == code
    assert "missing.yaml cannot be read: FileNotFoundError" in output


def test_a_missing_extra_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Telemetry that was asked for and cannot be had keeps a memory from opening."""
    monkeypatch.setitem(sys.modules, "honcho_memory.adapters.otel", None)

    code, output = doctor("--config", config_of(tmp_path, "telemetry: true"))

    assert 1 == code
    assert "problem settings: telemetry is true" in output
