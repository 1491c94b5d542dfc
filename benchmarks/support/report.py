"""What a comparison found: rows, as a table for people and as JSON for programs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from support.ways import FIVE, NAMES, OURS, SDK

SHORT = {OURS: "ours", SDK: "SDK", FIVE: "five"}

COMPARED = """\
## What is compared

- **ours**: this library with its outbox on disk, handed the whole thread every turn, as DeerFlow
  does it.
- **SDK**: the official `honcho-ai`, used as its documentation shows, in a host that keeps the
  client, the peers and the sessions, and that knows by itself which messages are new in a turn.
- **five**: what DeerFlow's built-in Honcho backend does: five requests a turn, the last of them
  with the whole history.

All talk to servers of the same kind, side by side in one run and in turning order; each turn is
delivered before the next begins. Times are medians. Look at the last two columns, which say how
many times ours the others take: absolute times are those of one machine on one day.

## What to know about the rows

- **Of what was said, Honcho holds**: Honcho takes at most 100 messages in a request. So the five
  requests are refused from the 51st turn of a thread on, and what is said from then on is lost.
  In a thread of 500 turns, most of their turns are such.
- **Recall, cold**: ours makes two requests side by side, for the representation and the peer card.
  The SDK's `context` gets both with one. DeerFlow's backend reads no card.
- **Search**: ours finds facts besides messages, with a second and a third request side by side.
- **Server takes 15 ms**: the server in memory answers one request after the other, so that requests
  made side by side take the sum of their times. A real one answers them together. These rows show
  that with the 15 ms that a real one took for a representation.
- **Server down**: the server refuses connections. The SDK tries three times within 1.5 s, and then
  raises, so that its host could keep the turn. DeerFlow's backend drops it. Ours keeps it on disk
  until host and server are started again. Ours recalls the last good answer meanwhile, and asks
  a server that is known to be down only now and then; the others recall nothing.
- **Import**: ours imports nothing but its names until `open_memory` or `Settings` is asked for.
  Then it loads dependency-injector, which also imports FastAPI where that is installed, as it is
  here; without FastAPI it takes half as long."""

HIDDEN = """\
## What this hides

- The server is a stand-in that answers from memory, on the same machine. A real Honcho 3.0.12 took
  16 ms for a request with messages, 15 ms for a representation, and 2 to 6 ms for a peer or a
  session that exists; a network adds a round trip to each. So who makes requests in the caller
  waits longer than the table shows, while an outbox takes as long as its disk does.
- A turn through an outbox never arrives sooner than one sent directly could.
- Server and callers share the processors, and slow each other down.
- The SDK's `context` takes a real server three times as long as a representation; here, both take
  the same.
- A real Honcho spends time of a model on every message that is stored, copies included.
- The hosted Honcho takes about 5 requests a second.
- A server may hang rather than refuse. Then callers wait for their timeouts: by default three
  times 60 s with the SDK, 10 s with the five requests, 4 s for a recall of ours.
- The SDK's host has to find out what is new, also after a restart, which is not counted; and what
  the SDK sends again after a lost answer is stored twice."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was measured of all ways.

    Attributes:
        what: What was measured.
        unit: Of the values.
        values: By the name of the way.
        turns: Of the threads that it was measured in, if it depends on that.
        quartiles: The first and the third, where the value is a median.
    """

    what: str
    unit: str
    values: Mapping[str, float]
    turns: int | None = None
    quartiles: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )

    def times_ours(self, name: str) -> float | None:
        """How many times ours a way takes; None where ours is nothing."""
        return self.values[name] / self.values[OURS] if self.values[OURS] else None

    def as_json(self) -> Mapping[str, object]:
        """The row for programs."""
        return {
            "what": self.what,
            "turns": self.turns,
            "unit": self.unit,
            "values": self.values,
            "times_ours": {name: self.times_ours(name) for name in NAMES if name != OURS},
            "quartiles": self.quartiles,
        }


def timed_row(what: str, seconds: Mapping[str, Sequence[float]], turns: int | None = None) -> Row:
    """A row of medians."""
    milliseconds = {name: [1000 * each for each in seconds[name]] for name in NAMES}
    return Row(
        what,
        "ms",
        {name: statistics.median(taken) for name, taken in milliseconds.items()},
        turns,
        {name: _quartiles(taken) for name, taken in milliseconds.items()},
    )


def table(rows: Iterable[Row]) -> str:
    """The rows in Markdown, aligned so that a terminal shows them as well."""
    others = [name for name in NAMES if name != OURS]
    head = (
        "measured",
        "turns",
        *(SHORT[name] for name in NAMES),
        "unit",
        *(f"{SHORT[name]} / ours" for name in others),
    )
    cells = [head, *(_cells(row, others) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(
        "| " + " | ".join(_padded(line, widths)) + " |" for line in (head, rule, *cells[1:])
    )


def _cells(row: Row, others: Iterable[str]) -> tuple[str, ...]:
    ratios = [row.times_ours(name) for name in others]
    return (
        row.what,
        "" if row.turns is None else str(row.turns),
        *(_number(row.values[name]) for name in NAMES),
        row.unit,
        *("" if ratio is None else f"{_number(ratio)}x" for ratio in ratios),
    )


def _padded(line: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    yield line[0].ljust(widths[0])
    for cell, width in zip(line[1:], widths[1:], strict=True):
        yield cell.rjust(width)


def _number(value: float) -> str:
    """Three digits are more than such a measurement is good for."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _quartiles(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third
