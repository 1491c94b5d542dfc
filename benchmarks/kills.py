"""Kill and stop a host's processes while they talk to a Honcho on a network that fails.

    python benchmarks/kills.py [RUNS] [TURNS]

Two processes share a storage path. About one turn in twelve ends with a SIGKILL, as many with
a SIGSTOP that lasts up to ten seconds, longer than a lease. Honcho loses answers, carries out
lost requests late, cuts connections, hangs and is unavailable. What counts are the last three
columns: they have to be 0.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from ordeal import Figures, Ordeal

COLUMNS = [field.name for field in dataclasses.fields(Figures)]


def main(runs: int = 20, turns: int = 300) -> int:
    """Print a line for each run and their sum; returns 1 when anything was lost or doubled."""
    print("run", *COLUMNS, sep="\t")
    total = dict.fromkeys(COLUMNS, 0)
    for seed in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            ordeal = Ordeal(seed, Path(folder), turns=turns, mishaps=6, longest_stop=10.0)
            figures = dataclasses.asdict(ordeal.run())
        print(seed, *figures.values(), sep="\t", flush=True)
        total = {name: total[name] + figures[name] for name in COLUMNS}
    print("all", *total.values(), sep="\t")
    return int(any(total[name] for name in ("lost", "twice", "out_of_order")))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
