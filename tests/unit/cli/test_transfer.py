"""The commands that take a user's memory out of Honcho, and into it."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from honcho_memory.cli.app import app
from honcho_memory.testing.strict_honcho import RunningServer

DEFAULT_MEMORY = {
    "version": "1.0",
    "lastUpdated": "2026-11-30T10:00:00Z",
    "user": {"workContext": {"summary": "Runs a bakery.", "updatedAt": "2026-11-30T10:00:00Z"}},
    "history": {},
    "facts": [
        {"id": "fact_1", "content": "Bakes rye bread", "category": "behavior", "confidence": 0.9},
        {"id": "fact_2", "content": "", "category": "context", "confidence": 0.5},
    ],
}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A file of DeerFlow's default memory."""
    path = tmp_path / "memory.json"
    path.write_text(json.dumps(DEFAULT_MEMORY))
    return path


def run(*args: object, stdin: str | None = None) -> tuple[int, str, str]:
    """Run `honcho-memory`; returns its exit code, its output and what it said beside."""
    result = CliRunner().invoke(app, [*map(str, args)], input=stdin, env={"COLUMNS": "300"})
    return result.exit_code, result.stdout, result.stderr


def exported(honcho_server: RunningServer, user: str = "ana") -> dict[str, Any]:
    """What the export of a user says."""
    code, output, _ = run("export", "--user", user, "--base-url", honcho_server.url)
    assert 0 == code
    document: dict[str, Any] = json.loads(output)
    return document


def contents(document: dict[str, Any]) -> set[str]:
    """The facts of a document."""
    return {fact["content"] for fact in document["facts"]}


def test_moving_in_from_the_default_memory(honcho_server: RunningServer, document: Path) -> None:
    """Facts and summaries become facts; what is none is named and skipped."""
    code, output, said = run("import", document, "--user", "ana", "--base-url", honcho_server.url)

    assert (0, "") == (code, output)
    assert "facts[1] is skipped" in said
    assert "Imported: 2 facts; 0 were known already, 1 were skipped." in said
    assert {"Bakes rye bread", "Runs a bakery."} == contents(exported(honcho_server))


def test_importing_again_changes_nothing(honcho_server: RunningServer, document: Path) -> None:
    """An operator who is not sure whether it was done does it again."""
    command = ("import", document, "--user", "ana", "--base-url", honcho_server.url)
    run(*command)
    before = exported(honcho_server)

    _, _, said = run(*command)

    assert "Imported: 0 facts; 2 were known already" in said
    assert before == exported(honcho_server)


def test_an_export_can_be_imported_for_another(
    honcho_server: RunningServer, document: Path
) -> None:
    """What one command writes the other reads, also through a pipe."""
    run("import", document, "--user", "ana", "--base-url", honcho_server.url)
    text = json.dumps(exported(honcho_server))

    code, _, _ = run("import", "-", "--user", "ben", "--base-url", honcho_server.url, stdin=text)

    assert 0 == code
    assert {"Bakes rye bread", "Runs a bakery."} == contents(exported(honcho_server, "ben"))


def test_an_exported_file_is_for_its_owner(
    honcho_server: RunningServer, document: Path, tmp_path: Path
) -> None:
    """It holds what a user said; nothing unfinished stays beside it."""
    run("import", document, "--user", "ana", "--base-url", honcho_server.url)
    folder = tmp_path / "exports"
    folder.mkdir()
    target = folder / "ana.json"
    target.write_text("older")

    code, output, said = run("export", target, "--user", "ana", "--base-url", honcho_server.url)

    assert (0, "") == (code, output)
    assert "Exported: 2 facts." in said
    assert contents(exported(honcho_server)) == contents(json.loads(target.read_text()))
    assert 0 == stat.S_IMODE(target.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    assert [target] == list(folder.iterdir())


def test_an_export_keeps_what_its_name_leads_to(
    honcho_server: RunningServer, tmp_path: Path
) -> None:
    """A link is followed, and a pipe is written to, not replaced."""
    target, link, pipe = tmp_path / "target.json", tmp_path / "link.json", tmp_path / "pipe"
    target.write_text("older")
    link.symlink_to(target)
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()

    linked = run("export", link, "--user", "ana", "--base-url", honcho_server.url)
    piped = run("export", pipe, "--user", "ana", "--base-url", honcho_server.url)
    reader.join()

    assert (0, 0) == (linked[0], piped[0])
    assert (True, True) == (link.is_symlink(), pipe.is_fifo())
    assert [] == json.loads(target.read_text())["facts"] == json.loads(read[0])["facts"]


def test_a_file_with_a_byte_order_mark_is_imported(
    honcho_server: RunningServer, tmp_path: Path
) -> None:
    """Editors on Windows write one."""
    file = tmp_path / "memory.json"
    file.write_text(json.dumps(DEFAULT_MEMORY), encoding="utf-8-sig")

    assert 0 == run("import", file, "--user", "ana", "--base-url", honcho_server.url)[0]


@pytest.mark.parametrize("command", ["export", "import"])
def test_a_honcho_that_cannot_be_asked(command: str, document: Path, tmp_path: Path) -> None:
    """An error and no file: an empty export would be a lie."""
    file = tmp_path / "ana.json" if command == "export" else document

    code, output, said = run(command, file, "--user", "ana", "--base-url", "http://127.0.0.1:9")

    assert (1, "") == (code, output)
    assert said.lstrip().startswith("honcho-memory: read ")
    assert "could not be reached" in said
    assert not (tmp_path / "ana.json").exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"{", "cannot be read as JSON"),
        (b"\xff\xfe", "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        (b"[]", "a memory document must be a mapping, not list"),
        (b'{"facts": "many"}', "must be a list, not str"),
    ],
)
def test_a_file_that_is_no_memory(
    honcho_server: RunningServer, tmp_path: Path, content: bytes, complaint: str
) -> None:
    """It is said what is wrong, and nothing is imported."""
    file = tmp_path / "memory.json"
    file.write_bytes(content)

    code, _, said = run("import", file, "--user", "ana", "--base-url", honcho_server.url)

    assert 1 == code
    assert complaint in said
    assert not honcho_server.requests


def test_a_file_that_cannot_be_read_or_written(
    honcho_server: RunningServer, tmp_path: Path
) -> None:
    """The file is named."""
    read = run("import", tmp_path / "none.json", "--user", "ana", "--base-url", honcho_server.url)
    written = run("export", tmp_path / "no" / "a", "--user", "ana", "--base-url", honcho_server.url)
    onto_a_folder = run("export", tmp_path, "--user", "ana", "--base-url", honcho_server.url)

    assert (1, True) == (read[0], "none.json cannot be read" in read[2])
    assert (1, True) == (written[0], "cannot be written: No such file" in written[2])
    assert (1, True) == (onto_a_folder[0], "cannot be written: Is a directory" in onto_a_folder[2])


@pytest.mark.parametrize("command", ["export", "import"])
def test_nobody_has_no_memory(honcho_server: RunningServer, document: Path, command: str) -> None:
    """An empty user id, from a variable that is not set, is an error."""
    code, output, said = run(command, document, "--user", "", "--base-url", honcho_server.url)

    assert (1, "") == (code, output)
    assert "there is no user" in said


def test_an_import_that_breaks_off_says_how_to_go_on(
    honcho_server: RunningServer, tmp_path: Path
) -> None:
    """What was imported stays; importing again adds the rest, and no category is lost."""
    facts = [{"content": f"Fact {number}", "category": "goal"} for number in range(250)]
    file = tmp_path / "memory.json"
    file.write_text(json.dumps({"facts": facts}))
    command = ("import", file, "--user", "ana", "--base-url", honcho_server.url)
    honcho_server.faults.answer(503, method="PUT", path="/peers/")

    code, _, said = run(*command)
    assert 1 == code
    assert "importing again adds the rest" in " ".join(said.split())
    assert 0 == run(*command)[0]

    document = exported(honcho_server)
    assert 250 == len(contents(document))
    assert {"goal"} == {fact["category"] for fact in document["facts"]}
