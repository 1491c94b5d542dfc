"""A strict Honcho as a process of its own, on a network that fails at random.

    python -m unruly_honcho SEED SETTLE_TIME

Its first line is its URL. It loses answers, cuts connections, hangs, is unavailable, and
carries out requests up to SETTLE_TIME seconds after their connection was lost. A line on its
standard input ends all that: when what was put off is done, it says how many requests came and
how many of them met with a fault.
"""

from __future__ import annotations

import math
import random
import sys
import threading
import time
from collections.abc import Callable

from honcho_memory.testing.strict_honcho import Fault, Faults, running_server

SECONDS_BETWEEN_FAULTS = 0.15
MESSAGES = "/messages"


class Trouble(threading.Thread):
    """Lets the next request meet with something, again and again."""

    def __init__(self, faults: Faults, seed: int, settle_time: float) -> None:
        super().__init__(daemon=True)
        self._faults = faults
        self._random = random.Random(seed)
        self._settle_time = settle_time
        self._is_over = threading.Event()
        self._set: list[Fault] = []
        self._late: dict[Fault, float] = {}

    def run(self) -> None:
        """Go on until it is over."""
        lose, cut = self._faults.lose_answer, self._faults.cut
        kinds: list[Callable[[], Fault]] = [
            lambda: lose(method="POST", path=MESSAGES),
            lambda: lose(method="POST", path=MESSAGES),
            self._carry_out_later,
            self._carry_out_later,
            lambda: cut(path=MESSAGES),
            lambda: self._faults.hang(path=MESSAGES),
            lambda: self._faults.answer(503, path=MESSAGES),
        ]
        while not self._is_over.wait(self._random.expovariate(1 / SECONDS_BETWEEN_FAULTS)):
            self._release_late_requests()
            self._faults.clear()
            self._set.append(self._random.choice(kinds)())

    def _carry_out_later(self) -> Fault:
        # This thread looks now and then only: what it would release too late stays undone.
        fault = self._faults.carry_out_later(method="POST", path=MESSAGES, within=self._settle_time)
        self._late[fault] = math.inf
        return fault

    def _release_late_requests(self) -> None:
        now = time.monotonic()
        for fault, due in tuple(self._late.items()):
            if fault.hits and due == math.inf:
                self._late[fault] = now + self._random.uniform(0, self._settle_time)
            elif due <= now:
                fault.release()
                del self._late[fault]

    def end(self) -> int:
        """End it, and wait for what was put off; returns how many requests met with it."""
        self._is_over.set()
        self.join()
        for fault in self._set:
            fault.stop()
            fault.release()
            fault.wait_until_done()
        return sum(fault.hits for fault in self._set)


def main(seed: str, settle_time: str) -> None:
    """Serve until the end of the input."""
    with running_server() as server:
        trouble = Trouble(server.faults, int(seed), float(settle_time))
        trouble.start()
        print(server.url, flush=True)  # noqa: T201 - the protocol
        sys.stdin.readline()
        hits = trouble.end()
        print(len(server.requests), hits, flush=True)  # noqa: T201
        sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
