"""However slow a network is, a read comes back in time, and what it left behind ends.

Seconds are those of the test's clock, which only waiting and dripping move.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import pytest
from slow_sockets import (
    PATIENCE,
    REQUEST_THREAD,
    TICK,
    SlowTime,
    Treat,
    cut,
    cut_in_the_body,
    drips_body,
    drips_headers,
    endless_body,
    full_backlog,
    interim_answers,
    silent,
    silent_about_the_card,
    slow_server,
)

from honcho_memory import Found, HonchoMemory, HonchoRequestError, Outcome, Recall, open_memory
from honcho_memory.adapters.honcho_http.client import MAX_CONNECTIONS
from honcho_memory.application import requests
from honcho_memory.application.server_state import LONGEST_PAUSE
from honcho_memory.bootstrap import DELIVERY_THREADS, MOST_READS
from honcho_memory.domain.errors import HonchoUnavailable

DEADLINE = 16 * TICK
ALLOWANCE = 16 * TICK
"""A server drips on while its last drop is noticed."""
LOST_ANSWERS = 3
LONG = 60.0
"""A deadline that passes on no other clock."""
NAME = "honcho.test"

Way = Callable[[SlowTime, pytest.MonkeyPatch], AbstractContextManager[str]]
"""A way of being slow: gives the address of what is slow."""
Read = Callable[[HonchoMemory], Recall | Found]


@contextmanager
def name_resolution(time: SlowTime, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """The look-up of the server's name hangs."""
    look_up = socket.getaddrinfo

    def hang(host: Any, *args: Any, **options: Any) -> Any:
        if host != NAME:
            return look_up(host, *args, **options)
        time.hang()
        return look_up("127.0.0.1", *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    monkeypatch.setenv("NO_PROXY", "*")
    with slow_server(cut, time) as url:
        yield url.replace("127.0.0.1", NAME)


@contextmanager
def connect(_time: SlowTime, _monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """Connecting hangs."""
    with full_backlog() as url:
        yield url


def server_that(treat: Treat) -> Way:
    """A server that is slow in this way."""
    return lambda time, _monkeypatch: slow_server(treat, time)


def recall(memory: HonchoMemory) -> Recall:
    """What is known of Ada."""
    return memory.recall("ada")


def search(memory: HonchoMemory) -> Found:
    """What is found of Ada."""
    return memory.search("food", user_id="ada")


ENDS_BY_ITSELF = [
    pytest.param(
        connect,
        id="connect",
        marks=pytest.mark.skipif(sys.platform != "linux", reason="others refuse at once"),
    ),
    *(
        pytest.param(server_that(treat), id=treat.__name__)
        for treat in (
            silent,
            drips_headers,
            interim_answers,
            drips_body,
            endless_body,
            cut,
            cut_in_the_body,
        )
    ),
]
ENDS_WHEN_RELEASED = [pytest.param(name_resolution, id="name_resolution")]
READS = [pytest.param(recall, id="recall"), pytest.param(search, id="search")]


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowTime]:
    """The time in which requests are waited for."""
    slow = SlowTime()
    monkeypatch.setattr(requests, "Future", slow.future)
    yield slow
    slow.release()


@pytest.fixture
def threads() -> Iterator[Callable[[], list[threading.Thread]]]:
    """The threads of requests that the test has made; none is left at its end."""
    before = set(threading.enumerate())

    def own() -> list[threading.Thread]:
        return [
            thread
            for thread in threading.enumerate()
            if thread.name == REQUEST_THREAD and thread not in before
        ]

    yield own
    join(own())


def join(threads: list[threading.Thread]) -> None:
    """Wait for the end of threads."""
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def open_at(
    time: SlowTime, threads: Callable[[], list[threading.Thread]]
) -> Iterator[Callable[..., HonchoMemory]]:
    """Opens memories in that time, and closes them."""
    with ExitStack() as stack:

        def open_one(url: str, **settings: Any) -> HonchoMemory:
            given = {"base_url": url, "recall": {"deadline_seconds": DEADLINE}, **settings}
            memory = open_memory(given, clock=time)
            stack.callback(memory.close)
            stack.callback(time.release)
            return memory

        yield open_one


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("way", ENDS_BY_ITSELF + ENDS_WHEN_RELEASED)
def test_fail_open_goes_on_without_memory(
    way: Way,
    read: Read,
    time: SlowTime,
    open_at: Callable[..., HonchoMemory],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the deadline the agent goes on, and knows that Honcho could not be asked."""
    with way(time, monkeypatch) as url:
        result = read(open_at(url))

        assert DEADLINE + ALLOWANCE >= time.monotonic()
        assert isinstance(result.error, HonchoRequestError)
        assert "" == str(result) if isinstance(result, Recall) else 0 == len(result)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("way", ENDS_BY_ITSELF + ENDS_WHEN_RELEASED)
def test_fail_closed_stops_the_agent(
    way: Way,
    read: Read,
    time: SlowTime,
    open_at: Callable[..., HonchoMemory],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the deadline the agent is told, with an error."""
    with way(time, monkeypatch) as url:
        memory = open_at(url, failure_policy={"read": "fail_closed"})

        with pytest.raises(HonchoRequestError):
            read(memory)

        assert DEADLINE + ALLOWANCE >= time.monotonic()


@pytest.mark.parametrize("way", ENDS_BY_ITSELF)
def test_what_is_left_behind_ends_by_itself(
    way: Way,
    time: SlowTime,
    threads: Callable[[], list[threading.Thread]],
    open_at: Callable[..., HonchoMemory],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server stays as slow as it is, and no thread of ours stays with it."""
    with way(time, monkeypatch) as url:
        recall(open_at(url))

        join(threads())


@pytest.mark.parametrize("way", ENDS_WHEN_RELEASED)
def test_what_cannot_be_ended_does_not_pile_up(
    way: Way,
    time: SlowTime,
    threads: Callable[[], list[threading.Thread]],
    open_at: Callable[..., HonchoMemory],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With so many left behind the next one fails at once; when they are let go, all end."""
    users = [f"user-{number}" for number in range(MOST_READS)]
    with way(time, monkeypatch) as url, ThreadPoolExecutor(MOST_READS) as pool:
        memory = open_at(url, recall={"deadline_seconds": LONG, "peer_card": False})
        with time.unnoticed():
            results = [pool.submit(memory.recall, user) for user in users]
            time.wait_until_hanging(MOST_READS)
        assert {Outcome.FAILED} == {result.result().outcome for result in results}
        assert LONG == time.monotonic()

        time.advance(LONGEST_PAUSE)
        refused = memory.recall("ada")

        assert "too many" in str(refused.error)
        assert (LONG + LONGEST_PAUSE, MOST_READS) == (time.monotonic(), len(threads()))
        time.release()
        join(threads())
        time.advance(LONGEST_PAUSE)
        assert "too many" not in str(memory.recall("ada").error)


def test_reads_that_hang_leave_delivery_its_connections() -> None:
    """As many requests as there can ever be find a connection, those left behind included."""
    assert MAX_CONNECTIONS >= MOST_READS + 2 * DELIVERY_THREADS


def test_a_server_known_to_be_down_costs_nothing(
    time: SlowTime, open_at: Callable[..., HonchoMemory]
) -> None:
    """Who comes after those that waited in vain does not wait, and nothing is sent."""
    with slow_server(silent, time) as url:
        memory = open_at(url)
        for _ in range(LOST_ANSWERS):
            memory.recall("ada")
        waited = time.monotonic()

        result = memory.recall("bob")

        assert (Outcome.FAILED, waited) == (result.outcome, time.monotonic())
        assert isinstance(result.error, HonchoUnavailable)


def test_the_last_good_answer_stands_in_by_the_deadline(
    time: SlowTime, open_at: Callable[..., HonchoMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that falls silent costs the deadline once, and no memory."""
    treats = iter([silent_about_the_card, *[silent] * 2])

    def falls_silent(connection: socket.socket, request: bytes, time: SlowTime) -> None:
        next(treats)(connection, request, time)

    with slow_server(falls_silent, time) as url:
        recalled = {"deadline_seconds": DEADLINE, "fresh_seconds": 0, "peer_card": False}
        memory = open_at(url, recall=recalled)
        assert "Lisbon" in memory.recall("ada").text

        result = memory.recall("ada")

        assert (Outcome.STALE, True) == (result.outcome, "Lisbon" in result.text)
        assert DEADLINE >= time.monotonic()


def test_a_card_that_does_not_come_costs_only_itself(
    time: SlowTime, open_at: Callable[..., HonchoMemory]
) -> None:
    """What Honcho concluded is given by the deadline, without the card."""
    with slow_server(silent_about_the_card, time) as url:
        result = open_at(url).recall("ada")

        assert (Outcome.COLD, True) == (result.outcome, "Lisbon" in result.text)
        assert DEADLINE >= time.monotonic()
