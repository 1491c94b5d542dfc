"""Real processes that die at any moment lose nothing and store nothing twice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ordeal import Ordeal


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL and no SIGSTOP")
def test_killed_processes_lose_nothing_and_store_nothing_twice(tmp_path: Path) -> None:
    """Whatever `remember` has returned for is in Honcho once and in order, kill after kill.

    `benchmarks/kills.py` is the long form of this.
    """
    figures = Ordeal(3, tmp_path, turns=20, mishaps=4).run()

    assert (0, 0, 0) == (figures.lost, figures.twice, figures.out_of_order)
    assert figures.kills
    assert figures.faults
