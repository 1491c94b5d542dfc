"""The command line."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from honcho_memory import cli
from honcho_memory.cli.app import app
from honcho_memory.cli.conversation import USER
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.transcript import RULES
from honcho_memory.testing.strict_honcho import RunningServer


def run(*args: str) -> tuple[int, str]:
    """Run the command; returns its exit code and what it printed."""
    result = CliRunner().invoke(app, args, env={"COLUMNS": "200"})
    return result.exit_code, result.output


def test_the_demo_shows_the_main_job() -> None:
    """What was stored, what was left out by which rule, what is recalled and found."""
    code, output = run("demo")

    assert 0 == code
    assert "8 messages are remembered" in output
    assert "as a host does after every turn: 0." in output
    for part in ("Stored in Honcho", "Left out", "Recalled", "Found for"):
        assert part in output
    shown = [rule.__name__ for rule in RULES if rule.__name__ in output]
    assert ["not_conversation", "hidden_message", "tool_call", "upload_only"] == shown
    assert "upload_acknowledgement" in output
    assert "said: Hi! I'm Ada." in output


def test_the_demo_runs_against_a_server(honcho_server: RunningServer) -> None:
    """With an address the same conversation goes to that server."""
    code, output = run("demo", "--base-url", honcho_server.url)

    assert (0, True) == (code, honcho_server.url in output)
    user = Identities().user(USER)
    assert user is not None
    (session,) = honcho_server.state.sessions(user.workspace)
    assert 8 == len(honcho_server.state.messages(user.workspace, session))


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("demo", "--base-url", "ftp://x"), "base_url must be"),
        (("demo", "--api-key-env", "HONCHO_MEMORY_UNSET"), "HONCHO_MEMORY_UNSET"),
        (("demo", "--user", ""), "needs a user"),
        (("identity", ""), "stands for nobody"),
        (("identity", "ada", "--id-digest-chars", "7"), "8 or 32"),
    ],
)
def test_bad_input_is_named(args: Sequence[str], reason: str) -> None:
    """One line says what is wrong, without a traceback, and the exit code is 1."""
    code, output = run(*args)

    assert 1 == code
    assert reason in output
    assert "Traceback" not in output


def test_a_server_that_cannot_be_reached_is_named(honcho_server: RunningServer) -> None:
    """The demo against a server that fails says why."""
    honcho_server.faults.answer(503, times=None)

    code, output = run("demo", "--base-url", honcho_server.url, "--timeout-seconds", "0.5")

    assert 1 == code
    assert "could not be delivered" in output
    assert "503" in output


def test_identity_shows_where_a_memory_is() -> None:
    """The ids are those that the library uses."""
    code, output = run("identity", "ada@example.org", "t.1", "--id-digest-chars", "32")

    identities = Identities(digest_chars=32)
    user = identities.user("ada@example.org")
    assert user is not None
    assert 0 == code
    for expected in (user.workspace, user.peer, identities.session("t.1")):
        assert expected in output


def test_without_its_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody who installed the library alone is told how to get the command."""
    monkeypatch.delitem(sys.modules, "honcho_memory.cli.app")
    monkeypatch.setitem(sys.modules, "typer", None)

    with pytest.raises(SystemExit, match=r"pip install 'honcho-memory\[cli\]'"):
        cli.main()


def test_a_missing_module_of_our_own_is_no_missing_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broken installation is not blamed on the extra."""
    monkeypatch.delitem(sys.modules, "honcho_memory.cli.app")
    monkeypatch.setitem(sys.modules, "honcho_memory.cli.demo", None)

    with pytest.raises(ModuleNotFoundError):
        cli.main()


def test_the_command_is_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed command runs and explains itself."""
    monkeypatch.setattr(sys, "argv", ["honcho-memory", "--help"])

    with pytest.raises(SystemExit) as stopped:
        cli.main()

    assert 0 == stopped.value.code


def test_the_version_is_the_packages() -> None:
    """What a bug report should say."""
    assert (0, f"honcho-memory {version('honcho-memory')}\n") == run("--version")


def test_the_command_is_the_modules_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where scripts are not on the path, `python -m honcho_memory` is."""
    monkeypatch.setattr(sys, "argv", ["honcho-memory", "identity", "ada", "-h"])

    with pytest.raises(SystemExit) as caught:
        runpy.run_module("honcho_memory", run_name="__main__")

    assert 0 == caught.value.code
    assert "stand for" in capsys.readouterr().out
