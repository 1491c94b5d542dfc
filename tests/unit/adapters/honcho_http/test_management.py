"""Facts and clearing are the requests that a Honcho v3 understands."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import httpx
import pytest

from honcho_memory.adapters.honcho_http import HttpHoncho
from honcho_memory.domain.errors import (
    HonchoNotFound,
    HonchoProtocolError,
    HonchoUnavailable,
)
from honcho_memory.domain.messages import Conclusion
from honcho_memory.testing.strict_honcho import RunningServer

Answered = Callable[[Callable[[httpx.Request], httpx.Response]], HttpHoncho]
Connected = Callable[[str], HttpHoncho]
Call = Callable[[HttpHoncho], object]

CONCLUSION = {
    "id": "eBOvFU57NEd-us32LiPnl",
    "content": "Prefers concise answers",
    "observer_id": "ada",
    "observed_id": "ada",
    "session_id": None,
    "level": "explicit",
    "created_at": "2026-11-30T22:51:33.098298Z",
}
KEPT = Conclusion(
    id="eBOvFU57NEd-us32LiPnl",
    content="Prefers concise answers",
    observer="ada",
    session=None,
    created_at=datetime(2026, 11, 30, 22, 51, 33, 98298, tzinfo=UTC),
)
PEER = {"id": "ada", "workspace_id": "ws", "metadata": {"k": {"a": 1}}, "configuration": {}}
SESSION = {"id": "df-t1", "workspace_id": "ws", "is_active": False, "metadata": {"k": 1}}

REPEATABLE: dict[str, Call] = {
    "list conclusions": lambda honcho: honcho.list_conclusions("ws", "ada", timeout=5),
    "delete conclusion": lambda honcho: honcho.delete_conclusion("ws", "c", timeout=5),
    "read metadata": lambda honcho: honcho.peer_metadata("ws", "ada", timeout=5),
    "write metadata": lambda honcho: honcho.put_peer_metadata("ws", "ada", {}, timeout=5),
    "write card": lambda honcho: honcho.put_peer_card("ws", "ada", [], timeout=5),
    "list sessions": lambda honcho: honcho.peer_sessions("ws", "ada", timeout=5),
    "list peers": lambda honcho: honcho.session_peers("ws", "s", timeout=5),
    "delete session": lambda honcho: honcho.delete_session("ws", "s", timeout=5),
}


class Clock(Protocol):
    """Stands still until it is moved."""

    now: float


class Wire:
    """Answers one after the other, and keeps the requests."""

    def __init__(self, *answers: object, status: int = 200) -> None:
        self._answers = iter(answers)
        self._status = status
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[Any] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((request.method, request.url.raw_path.decode()))
        self.bodies.append(json.loads(request.content) if request.content else None)
        return httpx.Response(self._status, json=next(self._answers))


def page(*items: object, pages: int = 1) -> dict[str, object]:
    return {"items": items, "total": 0, "page": 1, "size": 100, "pages": pages}


@pytest.mark.parametrize(
    ("observer", "filters"),
    [
        (None, {"observed_id": "ada"}),
        ("bob", {"observer_id": "bob", "observed_id": "ada"}),
    ],
)
def test_conclusions_are_listed(
    answered: Answered, observer: str | None, filters: dict[str, str]
) -> None:
    """A list is of one observer's conclusions about a peer, or of everybody's."""
    wire = Wire(page(CONCLUSION, pages=3))

    found = answered(wire).list_conclusions("ws", "ada", observer=observer, page=2, timeout=5)

    assert wire.requests == [("POST", "/v3/workspaces/ws/conclusions/list?page=2&size=100")]
    assert wire.bodies == [{"filters": filters}]
    assert found.items == (KEPT,)
    assert found.has_more


def test_observers_may_be_named_by_other_rules(answered: Answered) -> None:
    """A conclusion of one of Honcho's own observers does not hide the rest of the list."""
    wire = Wire(page(CONCLUSION | {"observer_id": "scope.team"}, CONCLUSION))

    found = answered(wire).list_conclusions("ws", "ada", timeout=5)

    assert [each.observer for each in found.items] == ["scope.team", "ada"]


def test_conclusions_are_created_in_one_request(answered: Answered) -> None:
    """A batch is one POST, of which the peer is observer and observed."""
    wire = Wire([CONCLUSION, CONCLUSION], status=201)

    created = answered(wire).create_conclusions("ws", "ada", ["one «é🙂»", "two"], timeout=5)

    assert wire.requests == [("POST", "/v3/workspaces/ws/conclusions")]
    assert wire.bodies == [
        {
            "conclusions": [
                {"content": content, "observer_id": "ada", "observed_id": "ada"}
                for content in ("one «é🙂»", "two")
            ]
        }
    ]
    assert created == (KEPT, KEPT)


def test_every_conclusion_has_to_be_created(answered: Answered) -> None:
    """A server that creates fewer conclusions than it was given is none."""
    with pytest.raises(HonchoProtocolError):
        answered(Wire([CONCLUSION], status=201)).create_conclusions(
            "ws", "ada", ["one", "two"], timeout=5
        )


def test_a_conclusion_is_deleted(answered: Answered) -> None:
    """One DELETE, which is answered without a word."""
    requests: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append((request.method, request.url.raw_path.decode()))
        return httpx.Response(204)

    answered(answer).delete_conclusion("ws", "eBOvFU57NEd-us32LiPnl", timeout=5)

    assert requests == [("DELETE", "/v3/workspaces/ws/conclusions/eBOvFU57NEd-us32LiPnl")]


def test_nothing_else_than_no_content_means_deleted(answered: Answered) -> None:
    """A page that something in between answers with is not taken for a deletion."""
    honcho = answered(lambda _: httpx.Response(200, html="<h1>Please log in</h1>"))

    with pytest.raises(HonchoProtocolError):
        honcho.delete_conclusion("ws", "c", timeout=5)


def test_a_conclusion_that_is_gone_is_not_found(answered: Answered) -> None:
    """Honcho calls a conclusion a document in the answer; it is understood all the same."""
    detail = "Document c not found or does not belong to workspace ws"

    with pytest.raises(HonchoNotFound):
        answered(Wire({"detail": detail}, status=404)).delete_conclusion("ws", "c", timeout=5)


def test_metadata_is_read(answered: Answered) -> None:
    """It is what a POST that gets or creates the peer, and changes nothing, answers."""
    wire = Wire(PEER)

    assert answered(wire).peer_metadata("ws", "ada", timeout=5) == {"k": {"a": 1}}
    assert wire.requests == [("POST", "/v3/workspaces/ws/peers")]
    assert wire.bodies == [{"id": "ada"}]


def test_metadata_is_written(answered: Answered) -> None:
    """A PUT replaces the metadata and leaves the configuration alone."""
    wire = Wire(PEER)

    answered(wire).put_peer_metadata("ws", "ada", {"k": {"a": 1}}, timeout=5)

    assert wire.requests == [("PUT", "/v3/workspaces/ws/peers/ada")]
    assert wire.bodies == [{"metadata": {"k": {"a": 1}}}]


@pytest.mark.parametrize("lines", [("Name: Ada", "Lives in Lisbon"), ()])
def test_a_card_is_written(answered: Answered, lines: Sequence[str]) -> None:
    """A PUT replaces the card; no lines empty it."""
    wire = Wire({"peer_card": list(lines)})

    answered(wire).put_peer_card("ws", "ada", lines, timeout=5)

    assert wire.requests == [("PUT", "/v3/workspaces/ws/peers/ada/card")]
    assert wire.bodies == [{"peer_card": list(lines)}]


def test_sessions_of_a_peer_are_listed(answered: Answered) -> None:
    """Those are named as well that are not active any more."""
    wire = Wire(page(SESSION, SESSION | {"id": "df-t2", "is_active": True}, pages=2))

    found = answered(wire).peer_sessions("ws", "ada", timeout=5)

    assert wire.requests == [("POST", "/v3/workspaces/ws/peers/ada/sessions?page=1&size=100")]
    assert found.items == ("df-t1", "df-t2")
    assert found.has_more


def test_peers_of_a_session_are_listed(answered: Answered) -> None:
    """All pages are read, whoever is named on them."""
    wire = Wire(page(PEER, pages=2), page(PEER | {"id": "scope.team"}, pages=2))

    assert answered(wire).session_peers("ws", "df-t1", timeout=5) == ("ada", "scope.team")
    assert wire.requests == [
        ("GET", "/v3/workspaces/ws/sessions/df-t1/peers?page=1&size=100"),
        ("GET", "/v3/workspaces/ws/sessions/df-t1/peers?page=2&size=100"),
    ]


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, page(pages=0)),
        (404, {"detail": "Session df-t1 not found in workspace ws"}),
    ],
)
def test_nobody_is_in_a_session_that_does_not_exist(
    answered: Answered, status: int, answer: object
) -> None:
    """Whether a server calls it empty or not found, nobody is in it."""
    assert answered(Wire(answer, status=status)).session_peers("ws", "df-t1", timeout=5) == ()


def test_all_pages_share_a_deadline(answered: Answered, clock: Clock) -> None:
    """A server that has ever more pages is left when the time is over."""
    pages = 0

    def answer(_: httpx.Request) -> httpx.Response:
        nonlocal pages
        pages += 1
        clock.now += 2
        return httpx.Response(200, json=page(PEER, pages=1_000_000))

    with pytest.raises(HonchoUnavailable):
        answered(answer).session_peers("ws", "df-t1", timeout=5)

    assert pages == 3


@pytest.mark.parametrize("call", REPEATABLE.values(), ids=REPEATABLE)
def test_what_may_be_done_twice_is_tried_again(
    server: RunningServer, connected: Connected, call: Call
) -> None:
    """A pooled connection that the server has closed costs no call that can be repeated.

    What is to be deleted may be not found.
    """
    honcho = connected(server.url)
    honcho.health(timeout=5)
    fault = server.faults.cut(path="/v3")

    with contextlib.suppress(HonchoNotFound):
        call(honcho)

    assert fault.hits == 1
    assert len(server.requests) == 3


def test_conclusions_are_never_created_twice(server: RunningServer, connected: Connected) -> None:
    """When the connection breaks, whether they were created is not known and not tried again."""
    honcho = connected(server.url)
    honcho.health(timeout=5)
    server.faults.cut(path="/v3")

    with pytest.raises(HonchoUnavailable) as caught:
        honcho.create_conclusions("ws", "ada", ["one"], timeout=5)

    assert caught.value.outcome_unknown
    assert len(server.requests) == 2
