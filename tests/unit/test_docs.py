"""The documentation says what is so."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="only the source tree has documentation")


def python_in(page: Path) -> list[str]:
    """The examples of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def test_every_setting_is_described() -> None:
    """The page of settings is the one that the settings make; `make docs` writes it."""
    tool = runpy.run_path(str(ROOT / "tools" / "settings_page.py"))

    assert tool["page"]() == (DOCS / "settings.md").read_text()


def test_the_first_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The ten lines do what they say; with the one line swapped, without a server."""
    (example,) = [block for block in python_in(README) if "memory.recall" in block]
    assert len(example.strip().splitlines()) <= 12
    swapped = example.replace(
        'open_memory({"base_url": "http://localhost:8000"})', "open_memory(honcho=HONCHO)"
    )
    assert swapped != example

    exec(swapped, {"HONCHO": InMemoryHoncho()})

    assert "I moved to Lisbon" in capsys.readouterr().out


def test_the_example_of_a_test_passes() -> None:
    """It is one."""
    example = python_in(DOCS / "start" / "testing.md")[0]
    names: dict[str, object] = {}
    exec(example, names)
    (test,) = [value for name, value in names.items() if name.startswith("test_")]

    assert callable(test)
    test()


def test_the_host_on_the_page_is_the_one_that_can_be_run() -> None:
    """Whoever copies it gets what the example's test has run."""
    (example,) = python_in(DOCS / "start" / "own-host.md")

    assert example in (ROOT / "examples" / "own_host.py").read_text()


@pytest.mark.parametrize("page", [README, *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_examples_can_be_copied(page: Path) -> None:
    """All of the Python is Python, and what it imports from here is here."""
    for example in python_in(page):
        for node in ast.walk(ast.parse(example)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("honcho_memory"):
                exec(ast.unparse(node), {})
