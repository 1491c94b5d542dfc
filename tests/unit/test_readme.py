"""The README says what is so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.settings import Settings

README = Path(__file__).parents[2] / "README.md"

pytestmark = pytest.mark.skipif(not README.exists(), reason="only the source tree has a README")


def rows(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The rows of the table of settings."""
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            yield from rows(type(default), f"{prefix}{name}.")
            continue
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        shown = {"None": "", "()": "`[]`", "": ""}.get(shown, f"`{shown}`")
        yield f"| `{prefix}{name}` | {shown} | {field.description} |"


def test_every_setting_is_described() -> None:
    """The table of settings is that of the settings themselves."""
    described = [line for line in README.read_text().splitlines() if line.startswith("| `")]

    assert list(rows(Settings)) == described


def test_the_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ten lines do what they say; with the one line swapped, without a server."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (example,) = [block for block in blocks if "memory.recall" in block]
    assert len(example.strip().splitlines()) <= 12
    swapped = example.replace(
        'open_memory({"base_url": "http://localhost:8000"})', "open_memory(honcho=HONCHO)"
    )

    exec(swapped, {"HONCHO": InMemoryHoncho()})

    assert "I moved to Lisbon" in capsys.readouterr().out
