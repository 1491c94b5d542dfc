"""Hosts that are killed and stopped while they speak to a Honcho on a network that fails."""

from __future__ import annotations

import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx
from threads import said

from honcho_memory.domain.identity import Identities

USER = "ada@example.org"
TIMEOUT = 1.0
"""Of a request, in seconds; a lease is 7 s then."""
SETTLE_TIME = 5.0
"""Seconds within which a request is carried out; the lease less the time to send it is 6 s."""
DRAIN_TIME = 60.0
_SUPPORT = Path(__file__).parent
_ANSWER_TIME = 90.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What an ordeal came to.

    Attributes:
        turns: How many were taken.
        kills: How many times a process was killed.
        stops: How many times one was stopped for a while.
        requests: How many reached Honcho.
        faults: How many of these met with a fault.
        lost: Messages that Honcho does not hold.
        twice: Messages that it holds more than once.
        out_of_order: Whether some session's messages are in another order than they were said.
    """

    turns: int
    kills: int
    stops: int
    requests: int
    faults: int
    lost: int
    twice: int
    out_of_order: int


class Child:
    """A Python module as a process that is spoken to in lines."""

    def __init__(self, module: str, *arguments: str) -> None:
        path = os.pathsep.join([str(_SUPPORT), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._pipe(self._process.stdout):
            self._lines.put(line.strip())
        self._lines.put("")

    def say(self, line: str) -> None:
        """Tell it something."""
        pipe = self._pipe(self._process.stdin)
        pipe.write(f"{line}\n")
        pipe.flush()

    def hear(self) -> str:
        """What it says next; empty once it has ended."""
        return self._lines.get(timeout=_ANSWER_TIME)

    def rest(self) -> Iterable[str]:
        """Everything that a process which has ended had still said."""
        while line := self.hear():
            yield line

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def end(self, number: int | None = None) -> None:
        """End it, with a signal or by the end of its input, and wait."""
        if number is not None:
            self.signal(number)
        self._pipe(self._process.stdin).close()
        self._process.wait(_ANSWER_TIME)
        self._reader.join()
        self._pipe(self._process.stdout).close()

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


class Writer(Child):
    """A host's process, with what it has been told to do and has not answered for."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__("writer_process", url, str(folder), str(TIMEOUT))
        self.busy_with: list[str] = []
        self.continues_at: float | None = None


class Ordeal:
    """Some turns of some threads, taken by two processes on one storage path.

    Args:
        seed: Decides who does what and who is killed when; the rest is up to the machine.
        folder: For the storage.
        turns: How many.
        mishaps: Of so many rounds of up to three turns one ends with a kill, one with a stop.
        longest_stop: In seconds.
        threads: How many conversations there are.
    """

    def __init__(
        self,
        seed: int,
        folder: Path,
        *,
        turns: int,
        mishaps: int = 8,
        longest_stop: float = 1.0,
        threads: int = 6,
    ) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._folder = folder
        self._turns = turns
        self._mishaps = mishaps
        self._longest_stop = longest_stop
        self._taken = Counter({f"thread-{number}": 0 for number in range(threads)})
        self._events: Counter[str] = Counter()
        self._deck: list[str] = []

    def run(self) -> Figures:
        """Go through it."""
        with ExitStack() as stack:
            honcho = Child("unruly_honcho", str(self._seed), str(SETTLE_TIME))
            stack.callback(honcho.end)
            url = honcho.hear()
            self._writers = [Writer(url, self._folder) for _ in range(2)]
            stack.callback(self._kill_all)
            while sum(self._taken.values()) < self._turns:
                self._take_some_turns(self._random.randrange(2), url)
            for writer in self._writers:
                self._go_on(writer)
            honcho.say("behave")
            requests, faults = honcho.hear().split()
            self._drain(url)
            return self._compare(url, int(requests), int(faults))

    def _take_some_turns(self, number: int, url: str) -> None:
        self._wake_the_stopped()
        writer = self._writers[number]
        if writer.continues_at is not None:
            return
        busy = {thread for each in self._writers for thread in each.busy_with}
        free = sorted(self._taken.keys() - busy)
        for thread in self._random.sample(free, min(len(free), self._random.randint(1, 3))):
            patience = self._random.choice([0.0, 0.02, 0.2])
            writer.say(f"{thread} {self._taken[thread] + 1} {patience}")
            writer.busy_with.append(thread)
        for _ in range(self._random.randint(0, 2 * len(writer.busy_with))):
            self._note(writer, writer.hear())
        mishap = self._deal()
        if mishap == "kill":
            self._events["kill"] += 1
            writer.end(signal.SIGKILL)
            for line in writer.rest():
                self._note(writer, line)
            self._writers[number] = Writer(url, self._folder)
        elif mishap == "stop":
            self._events["stop"] += 1
            writer.signal(signal.SIGSTOP)
            writer.continues_at = time.monotonic() + self._random.uniform(0, self._longest_stop)
        else:
            self._go_on(writer)

    def _deal(self) -> str:
        """What befalls the process that has just been told to do something."""
        if not self._deck:
            self._deck = ["kill", "stop", *[""] * (self._mishaps - 2)]
            self._random.shuffle(self._deck)
        return self._deck.pop()

    def _wake_the_stopped(self) -> None:
        if all(writer.continues_at is not None for writer in self._writers):
            earliest = min(writer.continues_at or 0.0 for writer in self._writers)
            time.sleep(max(0.0, earliest - time.monotonic()))
        for writer in self._writers:
            if writer.continues_at is not None and writer.continues_at <= time.monotonic():
                self._go_on(writer)

    def _go_on(self, writer: Writer) -> None:
        """Let a process do what it was told to do."""
        writer.signal(signal.SIGCONT)
        writer.continues_at = None
        while writer.busy_with:
            self._note(writer, writer.hear())

    def _note(self, writer: Writer, line: str) -> None:
        """Hear that a turn was taken, or that the process has done with it."""
        if line == "ready":
            writer.busy_with.pop(0)
            return
        thread, turn, outcome = line.split()
        if outcome == "taken":
            self._taken[thread] = int(turn)

    def _kill_all(self) -> None:
        for writer in self._writers:
            writer.end(signal.SIGKILL)

    def _drain(self, url: str) -> None:
        """Take one turn more of each thread, and wait until everything is delivered."""
        writer = self._writers[0]
        for thread in self._taken:
            writer.say(f"{thread} {self._taken[thread] + 1} 0")
            writer.busy_with.append(thread)
        self._go_on(writer)
        writer.say(f"flush {DRAIN_TIME}")
        writer.hear()

    def _compare(self, url: str, requests: int, faults: int) -> Figures:
        lost, twice, out_of_order = Counter[str](), Counter[str](), 0
        for thread, turns in self._taken.items():
            expected, stored = said(turns), stored_at(url, thread, USER)
            lost += Counter(expected) - Counter(stored)
            twice += Counter(stored) - Counter(expected)
            out_of_order += [text for text in dict.fromkeys(stored) if text in expected] != [
                text for text in expected if text in stored
            ]
        return Figures(
            turns=sum(self._taken.values()),
            kills=self._events["kill"],
            stops=self._events["stop"],
            requests=requests,
            faults=faults,
            lost=lost.total(),
            twice=twice.total(),
            out_of_order=out_of_order,
        )


def stored_at(url: str, thread: str, user_id: str) -> list[str]:
    """What the Honcho at an address holds of a thread."""
    user = Identities().user(user_id)
    assert user is not None
    path = f"{url}/v3/workspaces/{user.workspace}/sessions/{Identities().session(thread)}"
    texts: list[str] = []
    pages = page = 1
    while page <= pages:
        answer = httpx.post(
            f"{path}/messages/list?page={page}&size=100", json={}, timeout=60
        ).json()
        texts += [message["content"] for message in answer["items"]]
        pages, page = answer["pages"], page + 1
    return texts
