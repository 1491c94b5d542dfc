"""The benchmark measures what it says it does."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMPARE = Path(__file__).parents[2] / "benchmarks" / "compare.py"

pytestmark = [
    pytest.mark.skipif(not COMPARE.exists(), reason="only the source tree has benchmarks"),
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("honcho", "matplotlib"))),
        reason="needs the dependency group bench",
    ),
]


def test_a_comparison_of_tiny_sizes(tmp_path: Path) -> None:
    """All parts run: the table, the plot and the figures are there, and what was counted is so."""
    command = [sys.executable, str(COMPARE), "--quick", "--out", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr
    assert "</svg>" in (tmp_path / "benchmark.svg").read_text()
    assert run.stdout in (tmp_path / "benchmark.md").read_text()
    rows: list[dict[str, Any]] = json.loads((tmp_path / "benchmark.json").read_text())["rows"]
    counted = {
        (row["what"], row["turns"]): list(row["values"].values())
        for row in rows
        if row["unit"] != "ms" and "bytes" not in row["what"]
    }
    assert counted == {
        ("requests a turn", 1): [2, 2, 5],
        ("messages stored for one said", 1): [1, 1, 1],
        ("of what was said, Honcho holds", 1): [100, 100, 100],
        ("requests a turn", 3): [4 / 3, 4 / 3, 5],
        ("messages stored for one said", 3): [1, 1, 2],
        ("of what was said, Honcho holds", 3): [100, 100, 100],
        ("server down: of what was said, arrives", None): [100, 0, 0],
    }
