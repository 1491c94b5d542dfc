"""What handing over a turn costs its caller, against storing the thread in the caller.

The other way is that of a backend without an outbox: on each turn five requests, one after the
other, with the whole history in the last one. Run it from a checkout: python benchmarks/add.py
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from tempfile import TemporaryDirectory

import httpx
from support.measuring import Alternative, medians
from support.server import honcho_server
from support.telling import Figure, options, tell

from honcho_memory import HonchoMemory, Settings, open_memory

USER = "ada"
LENGTHS = (1, 50, 500)
"""Of threads, in turns."""
PATIENCE = 60.0

Message = Mapping[str, str]


def turn(thread: str, number: int) -> list[Message]:
    """A question and its answer."""
    words = f"turn {number} of {thread}, " + "in which somebody speaks of food and wine, " * 5
    return [
        {"role": "user", "id": f"{thread}-q{number}", "content": f"question, {words}"},
        {"role": "assistant", "id": f"{thread}-a{number}", "content": f"answer, {words}"},
    ]


class Thread:
    """A conversation that a host keeps to a length: each turn makes room for the next.

    One of a single turn is a new one each time.
    """

    def __init__(self, name: str, length: int) -> None:
        self._name = name
        self._length = length
        self._turns = itertools.count(length)
        self.messages = [each for number in range(length) for each in turn(name, number)]
        self.id = name

    def go_on(self) -> Sequence[Message]:
        """All messages, after one turn more."""
        number = next(self._turns)
        if self._length == 1:
            self.id = f"{self._name}-{number}"
        self.messages = [*self.messages[2:], *turn(self.id, number)]
        return self.messages


class Inline:
    """Five requests in the caller."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        self._client = stack.enter_context(httpx.Client(base_url=url))
        self._identities = Settings().identities()

    def add(self, thread_id: str, messages: Sequence[Message]) -> bool:
        """Store the history; whether the server took it."""
        user, session = self._identities.user(USER), self._identities.session(thread_id)
        assert user is not None
        assistant = self._identities.assistant_peer
        workspace = f"/v3/workspaces/{user.workspace}"
        authors = {"user": user.peer, "assistant": assistant}
        batch = [
            {"peer_id": authors[each["role"]], "content": each["content"][:8000]}
            for each in messages
        ]
        self._post(f"{workspace}/peers", {"id": user.peer})
        self._post(f"{workspace}/peers", {"id": assistant})
        self._post(f"{workspace}/sessions", {"id": session})
        self._post(f"{workspace}/sessions/{session}/peers", {peer: {} for peer in authors.values()})
        path = f"{workspace}/sessions/{session}/messages"
        return self._post(path, {"messages": batch}) < HTTPStatus.BAD_REQUEST

    def _post(self, path: str, body: object) -> int:
        return self._client.post(path, json=body).status_code


def handing_over(memory: HonchoMemory, thread: Thread) -> Alternative:
    """A turn more, handed over when all before it are delivered."""
    memory.remember(thread.id, thread.messages, user_id=USER)

    def prepare() -> Callable[[], None]:
        messages = thread.go_on()
        assert memory.flush(PATIENCE)

        def add() -> None:
            assert memory.remember(thread.id, messages, user_id=USER) == len(turn("", 0))

        return add

    return prepare


def storing_inline(inline: Inline, thread: Thread, taken: set[bool]) -> Alternative:
    """A turn more, stored in the caller."""

    def prepare() -> Callable[[], None]:
        messages = thread.go_on()
        return lambda: taken.add(inline.add(thread.id, messages))

    return prepare


def measure(url: str, rounds: int) -> tuple[dict[str, float], dict[int, set[bool]]]:
    """Seconds of each way by length, and whether the server took what was stored inline."""
    taken: dict[int, set[bool]] = {length: set() for length in LENGTHS}
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory())
        memory = stack.enter_context(open_memory({"base_url": url, "storage_path": folder}))
        inline = Inline(url, stack)
        alternatives: dict[str, Alternative] = {}
        for length in LENGTHS:
            thread, other = Thread(f"thread-{length}", length), Thread(f"inline-{length}", length)
            alternatives[f"outbox {length}"] = handing_over(memory, thread)
            alternatives[f"inline {length}"] = storing_inline(inline, other, taken[length])
        return medians(alternatives, rounds=rounds), taken


def main() -> None:
    """Measure and tell."""
    given = options("Measure what a turn costs its caller.", rounds=100)
    logging.getLogger("honcho_memory").setLevel(logging.CRITICAL)
    with honcho_server() as url:
        seconds, taken = measure(url, given.rounds)
    figures: list[Figure] = []
    for length in LENGTHS:
        mine, inline = seconds[f"outbox {length}"], seconds[f"inline {length}"]
        what = f"add, thread of {length}"
        remark = "" if taken[length] == {True} else "the server refuses the five requests' history"
        figures.append(Figure(what, "five requests inline", mine / inline, mine * 1000, remark))
        if length != LENGTHS[0]:
            first = seconds[f"outbox {LENGTHS[0]}"]
            figures.append(Figure(what, f"add, thread of {LENGTHS[0]}", mine / first, mine * 1000))
    tell(figures, given.json)


if __name__ == "__main__":
    main()
