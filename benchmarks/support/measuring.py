"""Measuring alternatives against each other, within one run."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

Call = Callable[[], object]
Alternative = Callable[[], Call]
"""Prepares a call that is then measured."""


def always(call: Call) -> Alternative:
    """A call that needs no preparation."""
    return lambda: call


def medians(alternatives: Mapping[str, Alternative], *, rounds: int) -> dict[str, float]:
    """Seconds that each alternative takes.

    All of them are called once in each round, in turning order, so that whatever else the
    machine does meets all alike. The first tenth of the rounds warms up and does not count.
    """
    taken: dict[str, list[float]] = {name: [] for name in alternatives}
    names = list(alternatives)
    warming = max(1, rounds // 10)
    with without_collections():
        for number in range(warming + rounds):
            for name in names:
                call = alternatives[name]()
                began = time.perf_counter()
                call()
                if number >= warming:
                    taken[name].append(time.perf_counter() - began)
            names.append(names.pop(0))
            if not number % 100:
                gc.collect()
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


@contextmanager
def without_collections() -> Generator[None]:
    """Let no garbage collection fall into what is measured."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
