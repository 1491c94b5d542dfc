"""Telling the figures of a run: a table for people, JSON for programs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One comparison.

    Attributes:
        what: What was measured.
        against: What it is compared with.
        ratio: Of the first to the second, of medians of the same run.
        milliseconds: The first alone; of this machine, and of no use elsewhere.
        remark: What else was counted.
    """

    what: str
    against: str
    ratio: float
    milliseconds: float
    remark: str = ""


def options(description: str, *, rounds: int) -> argparse.Namespace:
    """The options of a benchmark: `rounds` and `json`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    return parser.parse_args()


def tell(figures: Sequence[Figure], file: Path | None) -> None:
    """Print the figures, and write them to the file if there is one."""
    rows = [("measured", "against", "ratio", "ms", "")]
    rows += [
        (each.what, each.against, f"{each.ratio:.3g}", f"{each.milliseconds:.3g}", each.remark)
        for each in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if column in {2, 3} else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    if file is not None:
        file.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n")
