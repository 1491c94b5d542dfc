"""One request and its answer: the deadline, the size limit, and what is tried again."""

from __future__ import annotations

import gzip
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Protocol

import httpx
import pytest

from honcho_memory.adapters.honcho_http import HttpHoncho, open_client
from honcho_memory.adapters.honcho_http.exchange import MAX_BODY_BYTES
from honcho_memory.domain.errors import HonchoProtocolError, HonchoRequestError, HonchoUnavailable
from honcho_memory.domain.messages import Outgoing
from honcho_memory.testing.strict_honcho import RunningServer

Answered = Callable[[Callable[[httpx.Request], httpx.Response]], HttpHoncho]
Connected = Callable[[str], HttpHoncho]

HELLO = (Outgoing("k", "ada", "hello", datetime(2026, 12, 1, 12, tzinfo=UTC)),)
CARD = b'{"peer_card": ["Name: Ada"]}'


class Clock(Protocol):
    now: float

    def time(self) -> float: ...

    def monotonic(self) -> float: ...


class Body(httpx.SyncByteStream):
    """An answer's body, made as it is read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks


def endless() -> Iterator[bytes]:
    while True:
        yield b" " * 65_536


def test_each_phase_gets_the_time_that_is_left(answered: Answered, clock: Clock) -> None:
    """What one phase of a request has used up is missing from the next."""
    timeouts: list[dict[str, float]] = []

    def look(request: httpx.Request) -> httpx.Response:
        extension = request.extensions["timeout"]
        timeouts.append(dict(extension))
        clock.now += 3
        timeouts.append({"read": extension["read"]})
        clock.now += 1
        timeouts.append({"read": extension["read"]})
        assert len(extension) == len(dict(extension))
        assert extension.get("sleep") is None
        return httpx.Response(200, content=CARD)

    with pytest.raises(HonchoUnavailable):
        answered(look).peer_card("ws", "ada", timeout=4)

    assert timeouts == [
        {"connect": 4, "read": 4, "write": 4, "pool": 4},
        {"read": 1},
        {"read": 0.001},
    ]


def test_connecting_has_its_own_limit_too(clock: Clock) -> None:
    """A host that swallows packets is given up before the whole time is gone."""
    seen: list[float] = []

    def look(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"]["connect"])
        clock.now += 3
        seen.append(request.extensions["timeout"]["connect"])
        return httpx.Response(200, content=CARD)

    with open_client(
        "http://honcho.test",
        api_key=None,
        timeout_seconds=8,
        connect_timeout_seconds=2,
        transport=httpx.MockTransport(look),
    ) as client:
        HttpHoncho(client, clock=clock).peer_card("ws", "ada", timeout=4)

    assert seen == [2, 1]


def test_without_time_nothing_is_sent(server: RunningServer, connected: Connected) -> None:
    """A call whose time is over before it begins does not begin."""
    with pytest.raises(HonchoUnavailable) as caught:
        connected(server.url).add_messages("ws", "s", HELLO, timeout=0)

    assert not caught.value.outcome_unknown
    assert server.requests == ()


def test_dripping_answer_is_cut(answered: Answered, clock: Clock) -> None:
    """A server that sends a byte a second does not keep a caller longer than the deadline."""
    read = 0

    def drip() -> Iterator[bytes]:
        nonlocal read
        while True:
            read += 1
            clock.now += 1
            yield b" "

    honcho = answered(lambda _: httpx.Response(201, stream=Body(drip())))
    with pytest.raises(HonchoUnavailable) as caught:
        honcho.add_messages("ws", "s", HELLO, timeout=5)

    assert caught.value.outcome_unknown
    assert read == 5


def test_dripping_server_is_cut(server: RunningServer, connected: Connected) -> None:
    """The same over a real connection, which would never end by itself."""
    fault = server.faults.drip()

    with pytest.raises(HonchoUnavailable) as caught:
        connected(server.url).add_messages("ws", "s", HELLO, timeout=0.2)

    fault.wait_until_done()
    assert caught.value.outcome_unknown


def test_hung_server_is_given_up(server: RunningServer, connected: Connected) -> None:
    """After a time-out nobody knows whether the request will be carried out; here it is not."""
    fault = server.faults.hang()

    with pytest.raises(HonchoUnavailable) as caught:
        connected(server.url).add_messages("ws", "hung", HELLO, timeout=0.1)

    fault.wait_until_done()
    assert caught.value.outcome_unknown
    assert server.state.messages("ws", "hung") == ()


def test_after_a_slow_look_up_nothing_is_sent(
    server: RunningServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time-out covers the look-up of a name: what it made late stays here."""
    connect = socket.create_connection

    def slowly(*args: Any, **options: Any) -> socket.socket:
        clock.now += 60
        return connect(*args, **options)

    monkeypatch.setattr(socket, "create_connection", slowly)
    with open_client(
        server.url, api_key=None, timeout_seconds=8, connect_timeout_seconds=2
    ) as client:
        honcho = HttpHoncho(client, clock=clock)
        with pytest.raises(HonchoUnavailable) as caught:
            honcho.add_messages("ws", "s", HELLO, timeout=5)

    assert not caught.value.outcome_unknown
    assert server.requests == ()


def test_waiting_for_a_free_connection_ends(server: RunningServer) -> None:
    """A pool that others have emptied is unavailable, and nothing was sent."""
    fault = server.faults.hang()
    with httpx.Client(
        base_url=server.url, limits=httpx.Limits(max_connections=1), trust_env=False
    ) as client:
        honcho = HttpHoncho(client)
        other = threading.Thread(target=lambda: honcho.peer_card("ws", "ada", timeout=60))
        other.start()
        fault.wait_until_hit()
        with pytest.raises(HonchoUnavailable) as caught:
            honcho.add_messages("ws", "s", HELLO, timeout=0.05)
        fault.release()
        other.join()

    assert not caught.value.outcome_unknown


@pytest.mark.parametrize("length", [None, "12", str(10**30)])
def test_endless_answer_is_given_up(answered: Answered, length: str | None) -> None:
    """A body beyond any that Honcho gives is not read to its end, whatever it announced."""
    headers = {} if length is None else {"Content-Length": length}
    honcho = answered(lambda _: httpx.Response(200, headers=headers, stream=Body(endless())))

    with pytest.raises(HonchoProtocolError, match=str(MAX_BODY_BYTES)):
        honcho.peer_card("ws", "ada", timeout=5)


def test_endless_answer_of_a_server_is_given_up(
    server: RunningServer, connected: Connected
) -> None:
    """The same over a real connection; the server notices that nobody listens any more."""
    fault = server.faults.flood()

    with pytest.raises(HonchoProtocolError):
        connected(server.url).peer_card("ws", "ada", timeout=60)

    fault.wait_until_done()


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "deflate", "br"])
def test_compressed_answer_is_not_unpacked(answered: Answered, coding: str) -> None:
    """Nobody asked for it, and what is small may unpack to anything."""
    bomb = gzip.compress(b" " * (MAX_BODY_BYTES + 1))
    headers = {"Content-Encoding": coding}
    honcho = answered(lambda _: httpx.Response(200, headers=headers, stream=httpx.ByteStream(bomb)))

    with pytest.raises(HonchoProtocolError, match="decompressed"):
        honcho.peer_card("ws", "ada", timeout=5)


@pytest.mark.parametrize("status", [200, 422])
def test_a_long_answer_of_the_wrong_shape_is_cheap(answered: Answered, status: int) -> None:
    """Checking it ends at the first wrong item, so that it takes little time and memory."""
    items = b"[" + b"1," * 200_000 + b"1]"
    body = items if status == 200 else b'{"detail":' + items + b"}"
    honcho = answered(lambda _: httpx.Response(status, content=body))
    tracemalloc.start()

    with pytest.raises(HonchoRequestError):
        honcho.search_messages("ws", "q", limit=5, timeout=30)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * len(body)


def test_cookies_are_not_collected() -> None:
    """What the server sets for one user's request must not travel with another's."""
    sent: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers.get("Cookie"))
        return httpx.Response(200, headers={"Set-Cookie": "who=ada"}, content=CARD)

    transport = httpx.MockTransport(answer)
    with open_client(
        "http://honcho.test",
        api_key=None,
        timeout_seconds=5,
        connect_timeout_seconds=5,
        transport=transport,
    ) as client:
        for _ in range(2):
            HttpHoncho(client).peer_card("ws", "ada", timeout=5)

    assert [None, None] == sent


def test_compression_is_not_asked_for(answered: Answered) -> None:
    """An answer that is not compressed cannot be a bomb."""
    asked: list[str] = []

    def look(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["Accept-Encoding"])
        return httpx.Response(200, content=CARD)

    answered(look).peer_card("ws", "ada", timeout=5)

    assert asked == ["identity"]


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 2", b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n[", b"SSH-2.0\r\n"],
)
def test_answer_that_breaks_off_is_a_lost_one(
    answer: bytes, raw_server: Callable[[bytes], str], connected: Connected
) -> None:
    """A success whose end did not come may have stored the messages."""
    url = raw_server(answer)

    with pytest.raises(HonchoUnavailable) as caught:
        connected(url).add_messages("ws", "s", HELLO, timeout=5)

    assert caught.value.outcome_unknown


def test_read_on_a_connection_that_was_closed_is_tried_again(
    server: RunningServer, connected: Connected
) -> None:
    """A server that hung up between two requests is not an outage."""
    honcho = connected(server.url)
    honcho.peer_card("ws", "ada", timeout=5)
    fault = server.faults.cut()

    assert honcho.representation("ws", "ada", max_conclusions=25, timeout=5) == ""
    assert fault.hits == 1
    assert len(server.requests) == 3


def test_read_is_tried_again_once(server: RunningServer, connected: Connected) -> None:
    """A new connection that is closed as well is an outage."""
    honcho = connected(server.url)
    honcho.peer_card("ws", "ada", timeout=5)
    server.faults.cut(times=None)

    with pytest.raises(HonchoUnavailable):
        honcho.peer_card("ws", "ada", timeout=5)

    assert len(server.requests) == 3


def test_read_on_a_new_connection_is_not_tried_again(
    server: RunningServer, connected: Connected
) -> None:
    """Only a connection that lay idle can have been closed meanwhile."""
    server.faults.cut(times=None)

    with pytest.raises(HonchoUnavailable):
        connected(server.url).peer_card("ws", "ada", timeout=5)

    assert len(server.requests) == 1


def test_second_try_has_no_more_time_than_the_first(answered: Answered, clock: Clock) -> None:
    """Both tries together keep the deadline."""
    tries = 0

    def fail(_request: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        clock.now += 5
        raise httpx.RemoteProtocolError("Server disconnected")

    with pytest.raises(HonchoUnavailable):
        answered(fail).peer_card("ws", "ada", timeout=5)

    assert tries == 1


def test_answer_that_has_begun_is_not_asked_for_again(answered: Answered) -> None:
    """A connection that breaks in the middle of an answer was no stale one."""
    tries = 0

    def breaking() -> Iterator[bytes]:
        yield b"{"
        raise httpx.ReadError("reset")

    def answer(_request: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        return httpx.Response(200, stream=Body(breaking()))

    with pytest.raises(HonchoUnavailable):
        answered(answer).peer_card("ws", "ada", timeout=5)

    assert tries == 1


def test_messages_are_never_sent_twice(server: RunningServer, connected: Connected) -> None:
    """A lost answer is reported as one; the message is in Honcho once."""
    honcho = connected(server.url)
    honcho.peer_card("ws", "ada", timeout=5)
    server.faults.lose_answer()

    with pytest.raises(HonchoUnavailable) as caught:
        honcho.add_messages("ws", "lost-answer", HELLO, timeout=5)

    assert caught.value.outcome_unknown
    assert [m.content for m in server.state.messages("ws", "lost-answer")] == ["hello"]


def test_configuring_a_peer_is_tried_again(server: RunningServer, connected: Connected) -> None:
    """To say the same about a peer twice is to say it once."""
    honcho = connected(server.url)
    honcho.peer_card("ws", "ada", timeout=5)
    server.faults.lose_answer()

    honcho.configure_peer("ws", "deerflow", observe_me=False, timeout=5)

    assert server.state.peer_configuration("ws", "deerflow") == {"observe_me": False}
