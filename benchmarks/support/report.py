"""What a comparison found: rows, as a table for people and as JSON for programs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from support.ways import FIVE, NAMES, OURS, SDK

SHORT = {OURS: "ours", SDK: "SDK", FIVE: "five"}

COMPARED = """\
Compared are this library with its outbox on disk, handed the whole thread every turn; the
official SDK in a host that keeps client, peers and sessions and itself knows what is new in a
turn; and what DeerFlow's built-in Honcho backend does, five requests a turn with the whole
history in the last. All talk to one server, side by side in one run, turn by turn in turning
order, each turn delivered before the next. Times are medians. What to look at are the last
columns, how many times ours the others take: absolute times are those of one machine on one day.

Honcho takes at most 100 messages in a request, so that the five requests are refused from the
51st turn of a thread on, and what is said then is dropped; most of their turns in a thread of 500
are such. A cold recall of ours makes two requests side by side, for the representation and the
card, the SDK's `context` gives both in one, and the five requests' backend reads no card. A search
of ours finds facts besides messages, which is a second request.

With the server down, refusing connections, the SDK tries three times within 1.5 s and raises, so
that its host could keep the turn; that of the five requests is dropped; ours waits on disk until
host and server are started again. A recall then gives the last good answer with ours, which asks
a server that is known to be down only now and then, and nothing with the others. Imported are
`honcho_memory`, `honcho`, and for the last way `httpx, pydantic`, which the others need too."""

HIDDEN = """\
What a server on the same machine hides: it is a stand-in that answers from memory, and there is
no network. A request with messages took a real Honcho 3.0.12 16 ms, a representation 15 ms, a
peer or session that exists 2 to 6 ms, plus a round trip each when it is elsewhere. So whoever
makes requests in the caller waits longer there than here, while handing over to an outbox takes
what it takes here; how long that is, the disk decides. The time to delivered grows for all with
their requests; an outbox never delivers sooner than a direct call could. The SDK's `context` takes
a real server three times as long as a representation, here as long. Server and caller share the
processors here, so that they slow each other. Nor do show: the model time that a real Honcho
spends on each message that is stored, copies included; the hosted one's limit of about 5 requests
a second; and a server that hangs rather than refuses, which costs callers their timeouts, by
default 60 s three times with the SDK, 10 s with the five requests, 4 s for a recall of ours. Not
counted is what the SDK's host has to do to know what is new, also after a restart, and that what
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
