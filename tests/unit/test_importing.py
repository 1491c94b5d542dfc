"""What is imported, and when."""

from __future__ import annotations

import subprocess
import sys

import pytest

import honcho_memory

HEAVY = {
    "dependency_injector",
    "fastapi",
    "httpx",
    "langchain",
    "opentelemetry",
    "pydantic",
    "rich",
    "typer",
}


def imported_by(code: str) -> set[str]:
    """The heavy packages that a fresh interpreter has after some code."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return HEAVY.intersection(run.stdout.split())


def test_the_names_cost_no_more_than_their_definitions() -> None:
    """Neither an extra's libraries nor what only an open memory needs."""
    assert set() == imported_by("import honcho_memory")


def test_the_command_line_and_telemetry_are_imported_where_they_are_used() -> None:
    """Not by a memory that is opened."""
    code = "from honcho_memory import open_memory; open_memory().close()"

    assert not {"langchain", "opentelemetry", "rich", "typer"} & (
        imported_by(code) - imported_by("import dependency_injector.containers, httpx")
    )


def test_all_names_are_there() -> None:
    """Those that come late too; others are an error as with any module."""
    assert all(hasattr(honcho_memory, name) for name in honcho_memory.__all__)
    assert set(honcho_memory.__all__) <= set(dir(honcho_memory))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        honcho_memory.nothing  # type: ignore[attr-defined]  # noqa: B018
