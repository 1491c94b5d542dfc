"""What a recall and a search cost, against the bare requests that they are made of.

`compare.py` has them against other ways; here it is what the library adds, also to a server
that takes its time. Run it from a checkout: python benchmarks/recall.py
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
from support.measuring import always, medians
from support.server import honcho_server
from support.telling import Figure, options, tell

from honcho_memory import HonchoMemory, Outcome, Settings, open_memory

USER = "ada"
QUERY = "food"
TURNS = 25
ALWAYS_ASK = {"fresh_seconds": 0}
PAUSES = (0.0, 0.015)
"""Of the server; the second is what a real one takes for a representation."""
COMPARED = (
    ("recall, cold", "cold", "two bare requests side by side", "two bare", "2 requests"),
    ("recall, cold", "cold", "one bare request", "one bare", "2 requests"),
    ("recall, no card", "without card", "one bare request", "one bare", "1 request"),
    ("search", "search", "two bare requests side by side", "bare search", "2 requests"),
)


class Bare:
    """The requests that Honcho needs, by httpx and nothing else."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        user = Settings().identities().user(USER)
        assert user is not None
        self._client = stack.enter_context(httpx.Client(base_url=url))
        self._threads = stack.enter_context(ThreadPoolExecutor(2))
        self._workspace = f"/v3/workspaces/{user.workspace}"
        self._peer = user.peer

    def representation(self) -> Any:
        body = {"max_conclusions": 25}
        return self._post(f"/peers/{self._peer}/representation", body)["representation"]

    def card(self) -> Any:
        return self._client.get(f"{self._workspace}/peers/{self._peer}/card").json()

    def messages(self) -> Any:
        return self._post("/search", {"query": QUERY, "limit": 10})

    def conclusions(self) -> Any:
        filters = {"observer_id": self._peer, "observed_id": self._peer}
        body = {"query": QUERY, "top_k": 10, "filters": filters}
        return self._post("/conclusions/query", body)

    def side_by_side(self, *calls: Callable[[], object]) -> list[object]:
        return [each.result() for each in [self._threads.submit(call) for call in calls]]

    def _post(self, path: str, body: Mapping[str, object]) -> Any:
        return self._client.post(self._workspace + path, json=body).raise_for_status().json()


def fill(url: str) -> None:
    """Let the user have said something, so that there is something to recall and to find."""
    turns = [
        {"role": role, "id": f"{role}-{number}", "content": f"{role} speaks of food, {number}"}
        for number in range(TURNS)
        for role in ("user", "assistant")
    ]
    with open_memory({"base_url": url}) as memory:
        memory.remember("thread", turns, user_id=USER)
        assert memory.flush(60)


def recalled(memory: HonchoMemory) -> Callable[[], None]:
    """A recall that must have asked."""

    def recall() -> None:
        assert memory.recall(USER).outcome is Outcome.COLD

    return recall


def searched(memory: HonchoMemory) -> Callable[[], None]:
    """A search that must find something."""

    def search() -> None:
        assert len(memory.search(QUERY, user_id=USER, top_k=10)) > 0

    return search


def measure(url: str, rounds: int) -> dict[str, float]:
    """Seconds of everything."""
    with ExitStack() as stack:

        def memory_of(**settings: object) -> HonchoMemory:
            memory = open_memory({"base_url": url, **settings})
            stack.callback(memory.close)
            return memory

        bare = Bare(url, stack)
        cold = memory_of(recall=ALWAYS_ASK)
        without_card = memory_of(recall={**ALWAYS_ASK, "peer_card": False})
        calls: dict[str, Callable[[], object]] = {
            "one bare": bare.representation,
            "two bare": lambda: bare.side_by_side(bare.representation, bare.card),
            "bare search": lambda: bare.side_by_side(bare.messages, bare.conclusions),
            "cold": recalled(cold),
            "without card": recalled(without_card),
            "search": searched(cold),
        }
        return medians({name: always(call) for name, call in calls.items()}, rounds=rounds)


def main() -> None:
    """Measure and tell."""
    given = options("Measure recall and search against bare requests.", rounds=500)
    logging.getLogger("honcho_memory").setLevel(logging.CRITICAL)
    figures: list[Figure] = []
    for pause in PAUSES:
        with honcho_server(pause=pause) as url:
            fill(url)
            seconds = measure(url, given.rounds)
        figures += [
            Figure(
                what,
                against,
                seconds[of] / seconds[to],
                seconds[of] * 1000,
                f"{requests}; the server answers " + (f"after {pause:g} s" if pause else "at once"),
            )
            for what, of, against, to, requests in COMPARED
        ]
    tell(figures, given.json)


if __name__ == "__main__":
    main()
