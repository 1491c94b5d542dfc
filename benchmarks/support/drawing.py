"""A plot of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from support.report import Row
from support.ways import FIVE, NAMES, OURS, SDK

COLOURS = {OURS: "#0072b2", SDK: "#e69f00", FIVE: "#999999"}
"""To be told apart by everybody."""
MARKS = {OURS: "o", SDK: "s", FIVE: "^"}
CAPTION = (
    "From one run on one machine against a server in memory; what that hides, and how it was "
    "measured, is in benchmark.md."
)
REPEATABLE = {"svg.hashsalt": "honcho-memory", "svg.fonttype": "none"}


def draw(rows: Sequence[Row], file: Path) -> None:
    """Everything in one picture: what depends on the length of the thread, and the ratios."""
    by_length: dict[str, list[Row]] = {}
    for row in rows:
        if row.turns is not None:
            by_length.setdefault(row.what, []).append(row)
    # Its types are not known all through.
    figure: Any = Figure(figsize=(14, 8.5), layout="constrained")
    panels: Iterator[Any] = iter(figure.subplots(2, 4).flat)
    for what, measured in by_length.items():
        _lines(next(panels), what, measured)
    _ratios(next(panels), [row for row in rows if row.turns is None and row.unit == "ms"])
    _shares(next(panels), [row for row in rows if row.turns is None and row.unit == "%"])
    names = [Patch(color=COLOURS[name], label=name) for name in NAMES]
    figure.legend(handles=names, loc="outside upper center", ncols=len(names))
    figure.supxlabel(CAPTION, fontsize=9)
    # The same figures are to give the same file.
    settings: Any = matplotlib
    with settings.rc_context(REPEATABLE):
        figure.savefig(file, metadata={"Date": None})


def _lines(panel: Any, what: str, rows: Sequence[Row]) -> None:
    """A line for each way; time as multiples of the least, as it is the machine's."""
    is_time = rows[0].unit == "ms"
    unit = min(min(row.values.values()) for row in rows) if is_time else 1
    for name in NAMES:
        heights = [row.values[name] / unit for row in rows]
        # Ours is the broad one, so that it shows where another lies upon it.
        width = 5 if name == OURS else 1.5
        turns = [row.turns for row in rows]
        panel.plot(turns, heights, marker=MARKS[name], color=COLOURS[name], linewidth=width)
    panel.set_title(what, fontsize=10)
    panel.set_xscale("log")
    panel.set_xticks([row.turns for row in rows], [str(row.turns) for row in rows])
    panel.minorticks_off()
    panel.set_xlabel("turns of the thread", fontsize=8)
    panel.set_ylabel("times the least" if is_time else rows[0].unit, fontsize=8)
    _, top = panel.get_ylim()
    if top > 10 and rows[0].unit != "%":
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
    else:
        panel.set_ylim(0, top * 1.05)


def _ratios(panel: Any, rows: Sequence[Row]) -> None:
    """Bars that go right where the others take longer than ours, and left where ours does."""
    others = [name for name in NAMES if name != OURS]
    for offset, name in zip((-0.2, 0.2), others, strict=True):
        for place, row in enumerate(rows):
            ratio = row.times_ours(name) or 1
            panel.barh(place + offset, ratio - 1, 0.4, left=1, color=COLOURS[name])
    panel.set_yticks(range(len(rows)), [_wrapped(row.what) for row in rows], fontsize=7)
    panel.invert_yaxis()
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:g}")
    panel.axvline(1, color=COLOURS[OURS])
    panel.set_title("time, in multiples of ours", fontsize=10)


def _shares(panel: Any, rows: Sequence[Row]) -> None:
    """A bar for each way."""
    (row,) = rows
    for place, name in enumerate(NAMES):
        panel.bar(place, row.values[name], color=COLOURS[name])
        panel.text(place, row.values[name] + 2, f"{row.values[name]:.0f} %", ha="center")
    panel.set_title(_wrapped(row.what), fontsize=10)
    panel.set_ylim(0, 115)
    panel.set_xticks([])
    panel.set_ylabel("%", fontsize=8)


def _wrapped(text: str) -> str:
    return text.replace(": ", ":\n").replace(", ", ",\n", 1)
