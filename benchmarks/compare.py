"""What remembering through this library costs, against the official SDK and DeerFlow's backend.

Prints a table, and writes it with a plot and the figures to `docs`. Run it from a checkout:
make bench
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import logging
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from support.drawing import draw
from support.measuring import without_collections
from support.report import COMPARED, HIDDEN, Row, table, timed_row
from support.server import honcho_doors, port_of
from support.talking import Turn, conversation
from support.ways import (
    FIVE,
    IDENTITIES,
    NAMES,
    OURS,
    SDK,
    FiveRequests,
    Ours,
    Sdk,
    Way,
    identity_of,
)

DOCS = Path(__file__).parents[1] / "docs"
USERS = {OURS: "ada", SDK: "bob", FIVE: "eve"}
"""One for each way, so that none finds what another has stored."""
READER = "kim"
"""Whose memory all of them read."""
QUERY = "food"
ALWAYS_ASK = {"fresh_seconds": 0}
REAL_PAUSE = 0.015
"""Seconds that a real Honcho takes for a representation."""
IMPORTS = {
    "import the package": {
        OURS: "import honcho_memory",
        SDK: "import honcho",
        FIVE: "import httpx, pydantic",
    },
    "import what opens it": {
        OURS: "from honcho_memory import open_memory",
        SDK: "from honcho import Honcho",
        FIVE: "import httpx, pydantic",
    },
}
"""Statements by what they are for."""

Seconds = Mapping[str, list[float]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured.

    Attributes:
        threads: How many conversations, by their length in turns.
        reads: How often each read is made.
        lost: How many turns are said while the server is down.
        imports: How many interpreters import each library.
    """

    threads: Mapping[int, int]
    reads: int
    lost: int
    imports: int


FULL = Sizes(threads={1: 100, 50: 3, 500: 1}, reads=200, lost=5, imports=11)
QUICK = Sizes(threads={1: 2, 3: 1}, reads=2, lost=1, imports=1)


class Witness:
    """Sees what came to the server and what it holds, through a door of its own."""

    def __init__(self, url: str, doors: Mapping[str, str]) -> None:
        self._client = httpx.Client(base_url=url)
        self._ports = {name: str(port_of(door)) for name, door in doors.items()}

    def traffic(self, name: str) -> tuple[int, int]:
        """The requests and the bytes that have come through a way's door."""
        seen = self._client.get("/traffic").raise_for_status().json()
        port = self._ports[name]
        return seen["requests"].get(port, 0), seen["bytes"].get(port, 0)

    def held(self, name: str, thread: str) -> Sequence[str]:
        """The texts of the messages in a thread, copies included."""
        workspace = identity_of(USERS[name]).workspace
        path = f"/v3/workspaces/{workspace}/sessions/{IDENTITIES.session(thread)}/messages/list"
        texts: list[str] = []
        for number in count(1):
            asked = self._client.post(path, json={}, params={"page": number, "size": 100})
            page = asked.raise_for_status().json()
            texts += [item["content"] for item in page["items"]]
            if number >= page["pages"]:
                break
        return texts

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()


@contextmanager
def ways(
    doors: Mapping[str, str], users: Mapping[str, str], folder: Path, **settings: object
) -> Generator[Mapping[str, Way]]:
    """All ways to remember, each through its door."""
    opened: dict[str, Way] = {
        OURS: Ours(doors[OURS], users[OURS], folder, **settings),
        SDK: Sdk(doors[SDK], users[SDK]),
        FIVE: FiveRequests(doors[FIVE], users[FIVE]),
    }
    try:
        yield opened
    finally:
        for way in opened.values():
            way.close()


def timed(call: Callable[[], object]) -> float:
    """The seconds that a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def turning(rounds: int) -> Iterator[Sequence[str]]:
    """The names of the ways in turning order, so that what the machine does meets all alike."""
    for number in range(rounds):
        start = number % len(NAMES)
        yield NAMES[start:] + NAMES[:start]


def no_seconds() -> dict[str, list[float]]:
    """Nothing measured yet."""
    return {name: [] for name in NAMES}


def talk(compared: Mapping[str, Way], turns: Sequence[Turn]) -> tuple[Seconds, Seconds]:
    """Let every way remember; the seconds in the caller, and those until it is delivered."""
    caller, delivered = no_seconds(), no_seconds()
    with without_collections():
        for number, (turn, order) in enumerate(zip(turns, turning(len(turns)), strict=True)):
            for name in order:
                way = compared[name]
                caller[name].append(timed(lambda: way.say(turn)))  # noqa: B023 - called at once
                delivered[name].append(caller[name][-1] + timed(way.settle))
            if not number % 50:
                gc.collect()
    return caller, delivered


def write_rows(
    witness: Witness, compared: Mapping[str, Way], length: int, threads: int
) -> list[Row]:
    """What threads of a length cost."""
    turns = [
        turn
        for number in range(threads)
        for turn in conversation(f"thread-{length}-{number}", length)
    ]
    before = {name: witness.traffic(name) for name in NAMES}
    caller, delivered = talk(compared, turns)
    after = {name: witness.traffic(name) for name in NAMES}
    requests, sent = (
        {name: (after[name][what] - before[name][what]) / len(turns) for name in NAMES}
        for what in (0, 1)
    )
    return [
        Row("requests a turn", "", requests, length),
        *stored_rows(witness, turns, length),
        Row("bytes sent a turn", "kB", {name: sent[name] / 1000 for name in NAMES}, length),
        timed_row("time in the caller, a turn", caller, length),
        timed_row("time to delivered, a turn", delivered, length),
    ]


def stored_rows(witness: Witness, turns: Sequence[Turn], length: int) -> list[Row]:
    """What Honcho holds of what was said."""
    said = {message["content"] for turn in turns for message in turn.new}
    threads = dict.fromkeys(turn.thread for turn in turns)
    held = {name: [t for each in threads for t in witness.held(name, each)] for name in NAMES}
    copies = {name: len(texts) / len(said) for name, texts in held.items()}
    kept = {name: 100 * len(said.intersection(texts)) / len(said) for name, texts in held.items()}
    return [
        Row("messages stored for one said", "", copies, length),
        Row("of what was said, Honcho holds", "%", kept, length),
    ]


def read_rows(pause: float, folder: Path, reads: int) -> list[Row]:
    """What it costs to recall and to search on a server that takes so long for an answer."""
    where = f" (server takes {1000 * pause:g} ms)" if pause else ""
    users = dict.fromkeys(NAMES, READER)
    with ExitStack() as stack:
        urls = stack.enter_context(honcho_doors([0] * len(NAMES), pause=pause))
        doors = dict(zip(NAMES, urls, strict=True))
        cold = stack.enter_context(ways(doors, users, folder / "cold", recall=ALWAYS_ASK))
        fresh = stack.enter_context(ways(doors, users, folder / "fresh"))
        for turn in conversation("known", 25):
            cold[OURS].say(turn)
        cold[OURS].settle()
        return [
            timed_row(f"recall, cold{where}", read(cold, lambda way: way.recall(), reads)),
            timed_row(f"recall, fresh{where}", read(fresh, lambda way: way.recall(), reads)),
            timed_row(f"search{where}", read(cold, lambda way: way.search(QUERY), reads)),
        ]


def read(compared: Mapping[str, Way], call: Callable[[Way], object], reads: int) -> Seconds:
    """The seconds of reads that all find something; the first of each warms up."""
    seconds = no_seconds()
    assert all(call(way) for way in compared.values())
    with without_collections():
        for order in turning(reads):
            for name in order:
                way = compared[name]
                seconds[name].append(timed(lambda: call(way)))  # noqa: B023 - called at once
    return seconds


def outage_rows(folder: Path, lost: int) -> list[Row]:
    """What a turn and a recall cost when the server is down, and what is left of the turn."""
    first, *later = conversation("outage", 1 + lost)
    with ExitStack() as stack:
        with honcho_doors([0] * len(NAMES)) as urls:
            doors = dict(zip(NAMES, urls, strict=True))
            compared = stack.enter_context(ways(doors, USERS, folder, recall=ALWAYS_ASK))
            for way in compared.values():
                way.say(first)
                way.settle()
                way.recall()
        writes, recalls = no_seconds(), no_seconds()
        with without_collections():
            for turn, order in zip(later, turning(lost), strict=True):
                for name in order:
                    way = compared[name]
                    writes[name].append(timed(lambda: attempt(way.say, turn)))  # noqa: B023
                    recalls[name].append(timed(lambda: attempt(way.recall)))  # noqa: B023
    return [
        timed_row("server down: a turn, in the caller", writes),
        timed_row("server down: recall", recalls),
        Row("server down: of what was said, arrives", "%", survived(doors, folder, later)),
    ]


def attempt(call: Callable[..., object], *given: object) -> None:
    """A call by a host that has to go on, whatever is raised."""
    with suppress(Exception):
        call(*given)


def survived(doors: Mapping[str, str], folder: Path, turns: Sequence[Turn]) -> Mapping[str, float]:
    """How much of what was said while the server was down arrives when host and server are back."""
    said = {message["content"] for turn in turns for message in turn.new}
    ports = [port_of(doors[name]) for name in NAMES]
    with honcho_doors([*ports, 0]) as urls, ways(doors, USERS, folder) as compared:
        for way in compared.values():
            way.settle()
        witness = Witness(urls[-1], doors)
        held = {name: witness.held(name, turns[0].thread) for name in NAMES}
        witness.close()
    return {name: 100 * len(said.intersection(held[name])) / len(said) for name in NAMES}


def import_row(what: str, statements: Mapping[str, str], times: int) -> Row:
    """What importing costs a fresh interpreter."""
    seconds = no_seconds()
    for name in NAMES:
        importing(statements[name])
    for order in turning(times):
        for name in order:
            seconds[name].append(importing(statements[name]))
    return timed_row(what, seconds)


def importing(statement: str) -> float:
    """The seconds that a statement takes in an interpreter of its own."""
    code = (
        f"import time; began = time.perf_counter(); {statement}; print(time.perf_counter() - began)"
    )
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True)
    return float(run.stdout)


def measure(sizes: Sizes) -> list[Row]:
    """Everything: what is written on one server, what is read and the outage on their own."""
    rows: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        *urls, url = stack.enter_context(honcho_doors([0] * (len(NAMES) + 1)))
        doors = dict(zip(NAMES, urls, strict=True))
        witness = Witness(url, doors)
        stack.callback(witness.close)
        compared = stack.enter_context(ways(doors, USERS, folder / "write"))
        talk(compared, list(conversation("warming-up", 5)))
        for length, threads in sizes.threads.items():
            tell(f"{threads} x {length} turns")
            rows += write_rows(witness, compared, length, threads)
        for pause in (0.0, REAL_PAUSE):
            tell(f"recall and search, on a server that takes {pause:g} s")
            rows += read_rows(pause, folder / f"read-{pause:g}", sizes.reads)
        tell("a dead server")
        rows += outage_rows(folder / "outage", sizes.lost)
        tell("imports")
        rows += [import_row(what, each, sizes.imports) for what, each in IMPORTS.items()]
    return rows


def tell(what: str) -> None:
    """Say what is going on, beside what the program prints."""
    print(f"... {what}", file=sys.stderr, flush=True)


def write(rows: Sequence[Row], folder: Path) -> None:
    """The document, its plot, and the figures for programs."""
    folder.mkdir(parents=True, exist_ok=True)
    versions = {each: importlib.metadata.version(each) for each in ("honcho-memory", "honcho-ai")}
    about = {**versions, "python": platform.python_version()}
    figures = {"versions": about, "rows": [row.as_json() for row in rows]}
    (folder / "benchmark.json").write_text(json.dumps(figures, indent=2) + "\n")
    draw(rows, folder / "benchmark.svg")
    made = ", ".join(f"{name} {version}" for name, version in about.items())
    (folder / "benchmark.md").write_text(
        f"# What it costs\n\nMade by `make bench` with {made}.\n\n"
        f"![The table below as a plot](benchmark.svg)\n\n{table(rows)}\n\n{COMPARED}\n\n{HIDDEN}\n"
    )


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    parser.add_argument("--out", type=Path, default=DOCS, metavar="DIR", help="default: docs")
    given = parser.parse_args()
    # A proxy of the machine's has no business with servers on it.
    os.environ["NO_PROXY"] = "*"
    logging.disable(logging.CRITICAL)
    rows = measure(QUICK if given.quick else FULL)
    write(rows, given.out)
    print(f"{table(rows)}\n\n{COMPARED}\n\n{HIDDEN}")


if __name__ == "__main__":
    main()
