"""Each way in which a request can fail is one of the library's errors."""

from __future__ import annotations

import logging
import socket
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import httpx
import pytest

from honcho_memory.adapters.honcho_http import HttpHoncho, open_client
from honcho_memory.domain.errors import (
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnauthorized,
    HonchoUnavailable,
)
from honcho_memory.domain.messages import Outgoing
from honcho_memory.testing.strict_honcho import RunningServer, running_server

Answered = Callable[[Callable[[httpx.Request], httpx.Response]], HttpHoncho]

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
WORDS = "what nobody else may read"


def outgoing(*contents: str) -> Sequence[Outgoing]:
    return [
        Outgoing(key=f"k{n}", author="ada", content=c, created_at=NOON)
        for n, c in enumerate(contents)
    ]


def error_of(answered: Answered, response: httpx.Response) -> HonchoRequestError:
    """What adding messages raises when the server answers like this."""
    honcho = answered(lambda _: response)
    with pytest.raises(HonchoRequestError) as caught:
        honcho.add_messages("ws", "s", outgoing("one", "two", "three"), timeout=5)
    assert caught.value.status == response.status_code
    return caught.value


@pytest.mark.parametrize("status", [401, 403])
def test_key_that_does_not_open_is_unauthorized(answered: Answered, status: int) -> None:
    """A refused key is told apart, with the server's reason, because only a human can mend it."""
    error = error_of(answered, httpx.Response(status, json={"detail": "Invalid JWT"}))

    assert isinstance(error, HonchoUnauthorized)
    assert "Invalid JWT" in str(error)


@pytest.mark.parametrize("status", [400, 405, 408, 409, 413, 418, 422])
def test_other_4xx_is_a_refusal(answered: Answered, status: int) -> None:
    """What the server will not do comes with its reason."""
    error = error_of(answered, httpx.Response(status, json={"detail": "not like this"}))

    assert isinstance(error, HonchoRejected)
    assert "not like this" in str(error)
    assert error.refused == {}


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"detail": 7}', b"\xff\xfe"])
def test_refusal_may_come_without_a_reason(answered: Answered, body: bytes) -> None:
    """A proxy that refuses a large request in HTML refuses it all the same."""
    error = error_of(answered, httpx.Response(413, content=body))

    assert isinstance(error, HonchoRejected)


def test_422_names_every_bad_message_once(answered: Answered) -> None:
    """The positions of the bad messages come out in order, each with what is wrong first."""
    detail: list[dict[str, object]] = [
        {"loc": ["body", "messages", 2, "content"], "msg": "too long", "input": WORDS},
        {"loc": ["body", "messages", 0], "msg": "a control token", "input": WORDS, "ctx": {}},
        {"loc": ["body", "messages", 2, "peer_id"], "msg": "and another thing"},
        {"loc": ["body", "messages", -1], "msg": "no position"},
        {"loc": ["body", "messages"], "msg": "no position either"},
    ]
    error = error_of(answered, httpx.Response(422, json={"detail": detail}))

    assert isinstance(error, HonchoRejected)
    assert list(error.refused.items()) == [(0, "a control token"), (2, "too long")]
    assert WORDS not in "".join(traceback.format_exception(error))


def test_422_names_every_bad_conclusion(answered: Answered) -> None:
    """A batch of conclusions is refused like a batch of messages, by position."""
    detail = [{"loc": ["body", "conclusions", 1, "content"], "msg": "too short"}]
    honcho = answered(lambda _: httpx.Response(422, json={"detail": detail}))

    with pytest.raises(HonchoRejected) as caught:
        honcho.create_conclusions("ws", "ada", ["one", ""], timeout=5)

    assert caught.value.refused == {1: "too short"}


def test_long_reasons_are_cut(answered: Answered) -> None:
    """A server that explains itself at length does not fill the log."""
    detail = [{"loc": ["body", "messages", 0], "msg": "x" * 10_000}]
    error = error_of(answered, httpx.Response(422, json={"detail": detail}))

    assert isinstance(error, HonchoRejected)
    assert len(error.refused[0]) <= 300
    assert len(str(error)) < 600


def test_session_that_is_being_deleted_is_not_found(answered: Answered) -> None:
    """Honcho's own 404 says that the thing does not exist."""
    detail = "Session df-t1 not found in workspace ws"
    error = error_of(answered, httpx.Response(404, json={"detail": detail}))

    assert isinstance(error, HonchoNotFound)
    assert detail in str(error)


@pytest.mark.parametrize(
    "body", [b'{"detail":"Not Found"}', b"<h1>404</h1>", b'{"error":"not found"}', b""]
)
def test_404_of_another_service_is_no_honcho(answered: Answered, body: bytes) -> None:
    """A wrong path, host or port is said to be that, not a missing session."""
    error = error_of(answered, httpx.Response(404, content=body))

    assert isinstance(error, HonchoProtocolError)
    assert "base_url" in str(error)


@pytest.mark.parametrize("location", ["https://login.test/?user=ada", "/login", None])
def test_redirect_is_no_honcho(answered: Answered, location: str | None) -> None:
    """A login page in front of the server is named, without what its address says about people."""
    headers = {} if location is None else {"Location": location}
    error = error_of(answered, httpx.Response(302, headers=headers))

    assert isinstance(error, HonchoProtocolError)
    assert ("login.test" in str(error)) is (location == "https://login.test/?user=ada")
    assert "ada" not in str(error)


def test_redirect_to_nowhere_is_no_honcho(answered: Answered) -> None:
    """Whatever a redirect names as its target, it stays an answer that no Honcho gives."""
    error = error_of(answered, httpx.Response(300, headers={"Location": "http://ada:x"}))

    assert isinstance(error, HonchoProtocolError)


@pytest.mark.parametrize(
    "body",
    [b"<html>welcome</html>", b"", b"{}", b"null", b'[{"id": "x"}]', b'[{"id": "../x"}'],
)
def test_200_of_another_shape_is_no_honcho(answered: Answered, body: bytes) -> None:
    """A success that nothing was stored by is not taken for one."""
    error = error_of(answered, httpx.Response(200, content=body))

    assert isinstance(error, HonchoProtocolError)


@pytest.mark.parametrize("name", ["id", "peer_id", "session_id"])
def test_ids_that_honcho_never_gives_are_no_honcho(answered: Answered, name: str) -> None:
    """What looks like an answer but has an id outside of the grammar is not trusted."""
    message: dict[str, object] = {
        "id": "m-1",
        "peer_id": "ada",
        "session_id": "s",
        "content": WORDS,
        "metadata": {},
        "created_at": "2026-12-01T12:00:00Z",
    }
    honcho = answered(lambda _: httpx.Response(200, json=[message | {name: "no id"}]))

    with pytest.raises(HonchoProtocolError) as caught:
        honcho.search_messages("ws", "x", limit=1, timeout=5)

    assert WORDS not in "".join(traceback.format_exception(caught.value))


def test_fewer_messages_than_were_sent_is_no_honcho(answered: Answered) -> None:
    """A server that says to have stored less than it was given is not believed."""
    honcho = answered(lambda _: httpx.Response(201, json=[]))

    with pytest.raises(HonchoProtocolError, match="0 messages of 1"):
        honcho.add_messages("ws", "s", outgoing("hello"), timeout=5)


@pytest.mark.parametrize(
    ("status", "unknown"),
    [(429, False), (500, False), (503, False), (502, True), (504, True), (524, True)],
)
def test_server_that_cannot_serve_is_unavailable(
    answered: Answered, status: int, unknown: bool
) -> None:
    """After a gateway's answer nobody knows whether the request was carried out."""
    error = error_of(answered, httpx.Response(status, content=b"<html>"))

    assert isinstance(error, HonchoUnavailable)
    assert (error.outcome_unknown, error.retry_after) == (unknown, None)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("9" * 400, 86_400.0),
        ("Tue, 01 Dec 2026 14:30:12 GMT", 12.0),
        ("Tue, 01 Dec 2026 14:30:12 -0000", 12.0),
        ("Tue, 01 Dec 2026 14:29:00 GMT", 0.0),
        ("Tue, 01 Dec 2099 14:29:00 GMT", 86_400.0),
        ("-3", None),
        ("Tue, 01 Dec 99999999999999999999 14:30:12 GMT", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_read_in_both_forms(
    answered: Answered, value: str, seconds: float | None
) -> None:
    """Seconds and dates count, up to a day; what is neither counts as nothing said."""
    error = error_of(answered, httpx.Response(429, headers={"Retry-After": value}))

    assert isinstance(error, HonchoUnavailable)
    assert error.retry_after == seconds


@pytest.mark.parametrize(
    ("failure", "unknown"),
    [
        (httpx.ConnectError("[Errno -2] Name or service not known"), False),
        (httpx.ConnectTimeout("timed out"), False),
        (httpx.PoolTimeout("timed out"), False),
        (httpx.ProxyError("407"), False),
        (httpx.UnsupportedProtocol("no scheme"), False),
        (httpx.InvalidURL("no address"), False),
        (httpx.ReadTimeout("timed out"), True),
        (httpx.WriteTimeout("timed out"), True),
        (httpx.ReadError(""), True),
        (httpx.WriteError(""), True),
        (httpx.CloseError(""), True),
        (httpx.RemoteProtocolError("Server disconnected"), True),
        (httpx.LocalProtocolError("closed"), True),
        (ConnectionResetError("reset"), True),
    ],
)
def test_transport_failure_is_unavailable(
    answered: Answered, failure: Exception, unknown: bool
) -> None:
    """Only where nothing can have been sent is it certain that nothing was carried out."""

    def fail(_request: httpx.Request) -> httpx.Response:
        raise failure

    with pytest.raises(HonchoUnavailable) as caught:
        answered(fail).add_messages("ws", "s", outgoing("hello"), timeout=5)

    assert (caught.value.status, caught.value.outcome_unknown) == (None, unknown)
    assert caught.value.__cause__ is failure


def test_answer_that_cannot_be_unpacked_is_no_honcho(answered: Answered) -> None:
    """What claims to be compressed and is not comes from somebody else."""

    def garbled(_request: httpx.Request) -> httpx.Response:
        headers = {"Content-Encoding": "gzip"}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(b"plain"))

    with pytest.raises(HonchoProtocolError, match="decompressed"):
        answered(garbled).peer_card("ws", "ada", timeout=5)


def test_programming_errors_pass(answered: Answered) -> None:
    """What is wrong with the program is not the server's unavailability."""

    def fail(_request: httpx.Request) -> httpx.Response:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        answered(fail).peer_card("ws", "ada", timeout=5)


def test_nobody_listens() -> None:
    """A server that is not there is unavailable, and nothing was sent to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with (
        open_client(url, api_key=None, timeout_seconds=5, connect_timeout_seconds=5) as client,
        pytest.raises(HonchoUnavailable) as caught,
    ):
        HttpHoncho(client).add_messages("ws", "s", outgoing("hello"), timeout=5)

    assert not caught.value.outcome_unknown
    assert url in str(caught.value)


def test_key_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Neither what is logged on the way, nor the error, nor a repr shows the key."""
    caplog.set_level(logging.DEBUG)
    with (
        running_server(tokens={"another": None}) as server,
        open_client(
            server.url, api_key="s3cret-key", timeout_seconds=5, connect_timeout_seconds=5
        ) as client,
    ):
        honcho = HttpHoncho(client)
        with pytest.raises(HonchoUnauthorized) as caught:
            honcho.representation("ws", "ada", max_conclusions=25, timeout=5)
        assert server.requests[0].headers["authorization"] == "Bearer s3cret-key"

    shown = [repr(honcho), repr(client), repr(client.headers), caplog.text]
    shown += traceback.format_exception(caught.value)
    assert "s3cret-key" not in "".join(shown)


def test_password_in_the_address_is_never_shown(server: RunningServer) -> None:
    """An address with a password in it is shown without."""
    url = server.url.replace("http://", "http://ada:s3cret@")
    server.faults.answer(503)
    with open_client(url, api_key=None, timeout_seconds=5, connect_timeout_seconds=5) as client:
        honcho = HttpHoncho(client)
        with pytest.raises(HonchoUnavailable) as caught:
            honcho.peer_card("ws", "ada", timeout=5)

    assert repr(honcho) == f"HttpHoncho({server.url!r})"
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
