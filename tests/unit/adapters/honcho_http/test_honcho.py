"""Each call of the port is the request that a Honcho v3 understands."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest

from honcho_memory.adapters.honcho_http import HttpHoncho
from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable
from honcho_memory.domain.messages import Conclusion, Outgoing, StoredMessage
from honcho_memory.testing.strict_honcho import RunningServer

Answered = Callable[[Callable[[httpx.Request], httpx.Response]], HttpHoncho]

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
MESSAGE = {
    "id": "_mzBhXsXcDXMN7cTtXMmL",
    "content": "I moved to Lisbon in March.",
    "peer_id": "ada-1",
    "session_id": "df-t1",
    "metadata": {"host_message_id": "m1"},
    "created_at": "2026-03-01T10:00:00Z",
    "workspace_id": "ws",
    "token_count": 7,
}
STORED = StoredMessage(
    id="_mzBhXsXcDXMN7cTtXMmL",
    key="m1",
    author="ada-1",
    session="df-t1",
    content="I moved to Lisbon in March.",
    created_at=datetime(2026, 3, 1, 10, tzinfo=UTC),
)


class Wire:
    """Answers with one body, and keeps the request."""

    def __init__(self, answer: object, status: int = 200) -> None:
        self._answer = answer
        self._status = status
        self.method = ""
        self.target = ""
        self.body: Any = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.method = request.method
        self.target = request.url.raw_path.decode()
        self.body = json.loads(request.content) if request.content else None
        return httpx.Response(self._status, json=self._answer)


def page(*items: object, pages: int = 1) -> dict[str, object]:
    return {"items": items, "total": 0, "page": 1, "size": 100, "pages": pages}


def test_messages_are_added_in_one_request(answered: Answered) -> None:
    """A turn is one POST, with times that carry their offset."""
    wire = Wire([MESSAGE, MESSAGE], status=201)
    messages = [
        Outgoing("m1", "ada-1", "hello\n«é🙂»", NOON, {"host_message_id": "m1", "n": 1}),
        Outgoing("m2", "bot", "hi", NOON.astimezone(timezone(timedelta(hours=2)))),
    ]

    answered(wire).add_messages("ws", "df-t1", messages, timeout=5)

    assert (wire.method, wire.target) == ("POST", "/v3/workspaces/ws/sessions/df-t1/messages")
    assert wire.body == {
        "messages": [
            {
                "peer_id": "ada-1",
                "content": "hello\n«é🙂»",
                "metadata": {"host_message_id": "m1", "n": 1},
                "created_at": "2026-12-01T12:00:00+00:00",
            },
            {
                "peer_id": "bot",
                "content": "hi",
                "metadata": {},
                "created_at": "2026-12-01T14:00:00+02:00",
            },
        ]
    }


def test_messages_that_cannot_be_encoded_are_refused_by_position(answered: Answered) -> None:
    """Half a surrogate pair cannot be sent: its message is named, and nothing is sent."""
    wire = Wire([])
    messages = [
        Outgoing("m1", "ada", "fine", NOON),
        Outgoing("m2", "ada", "bad \ud83d", NOON),
        Outgoing("m3", "ada", "fine", NOON, {"trace_id": "\udc00"}),
        Outgoing("m4", "ada", "fine", NOON, {"n": float("nan")}),  # type: ignore[dict-item]  # not what its type says
    ]

    with pytest.raises(HonchoRejected) as caught:
        answered(wire).add_messages("ws", "s", messages, timeout=5)

    assert list(caught.value.refused) == [1, 2, 3]
    assert wire.method == ""


def test_text_that_cannot_be_encoded_is_refused(answered: Answered) -> None:
    """A query or an id with half a surrogate pair is refused, not a crash."""
    honcho = answered(Wire([]))

    with pytest.raises(HonchoRejected):
        honcho.search_messages("ws", "\ud83d", limit=5, timeout=5)
    with pytest.raises(HonchoRejected):
        honcho.search_messages("\ud83d", "x", limit=5, timeout=5)


def test_ids_cannot_leave_their_place_in_the_path(answered: Answered) -> None:
    """Whatever an id holds, the request stays within its workspace."""
    wire = Wire(page())

    answered(wire).find_messages("ws", "a/b?c#d", ["k"], timeout=5)

    assert wire.target.startswith("/v3/workspaces/ws/sessions/a%2Fb%3Fc%23d/messages/list?")


def test_messages_are_found_by_key(answered: Answered) -> None:
    """One list call asks for many keys at once."""
    wire = Wire(page(MESSAGE, MESSAGE | {"metadata": {}}, pages=3))

    found = answered(wire).find_messages("ws", "df-t1", ["m1", "m2"], page=2, timeout=5)

    assert wire.method == "POST"
    assert wire.target == "/v3/workspaces/ws/sessions/df-t1/messages/list?page=2&size=100"
    assert wire.body == {"filters": {"metadata": {"host_message_id": {"in": ["m1", "m2"]}}}}
    assert [item.key for item in found.items] == ["m1", None]
    assert found.items[0] == STORED
    assert found.has_more


def test_messages_without_a_key_are_found_in_the_same_call(answered: Answered) -> None:
    """Moving in asks for what another program stored along with what this one did."""
    wire = Wire(page())

    found = answered(wire).find_messages("ws", "s", ["m1"], or_without_key=True, timeout=5)

    assert wire.body == {
        "filters": {
            "OR": [
                {"metadata": {"host_message_id": {"in": ["m1"]}}},
                {"NOT": [{"metadata": {"host_message_id": {"ne": ""}}}]},
            ]
        }
    }
    assert not found.has_more


@pytest.mark.parametrize("key", ["", 7, None, ["m1"]])
def test_what_is_no_key_counts_as_none(answered: Answered, key: object) -> None:
    """Another program's metadata under the same name is not mistaken for a key."""
    honcho = answered(Wire(page(MESSAGE | {"metadata": {"host_message_id": key}})))

    assert honcho.find_messages("ws", "s", ["m1"], timeout=5).items[0].key is None


def test_peer_is_configured(answered: Answered) -> None:
    """One POST creates the peer or replaces its configuration."""
    wire = Wire({"id": "deerflow", "workspace_id": "ws", "metadata": {}, "configuration": {}})

    answered(wire).configure_peer("ws", "deerflow", observe_me=False, timeout=5)

    assert (wire.method, wire.target) == ("POST", "/v3/workspaces/ws/peers")
    assert wire.body == {"id": "deerflow", "configuration": {"observe_me": False}}


@pytest.mark.parametrize(
    ("query", "body"),
    [
        (None, {"max_conclusions": 25}),
        ("", {"max_conclusions": 25}),
        ("where", {"max_conclusions": 25, "search_query": "where"}),
    ],
)
def test_representation_is_read(
    answered: Answered, query: str | None, body: dict[str, object]
) -> None:
    """The text comes as Honcho wrote it; a query is sent where there is one."""
    wire = Wire({"representation": "## Explicit Observations\n"})

    text = answered(wire).representation("ws", "ada", max_conclusions=25, query=query, timeout=5)

    assert (wire.method, wire.target) == ("POST", "/v3/workspaces/ws/peers/ada/representation")
    assert wire.body == body
    assert text == "## Explicit Observations\n"


@pytest.mark.parametrize(
    ("status", "answer", "card"),
    [
        (200, {"peer_card": ["Name: Ada", "Lives in Lisbon"]}, ("Name: Ada", "Lives in Lisbon")),
        (200, {"peer_card": []}, ()),
        (200, {"peer_card": None}, ()),
        (404, {"detail": "Peer ada not found in workspace ws"}, ()),
    ],
)
def test_card_is_read(
    answered: Answered, status: int, answer: object, card: tuple[str, ...]
) -> None:
    """A peer without a card, and a peer that does not exist, have an empty one."""
    wire = Wire(answer, status)

    assert answered(wire).peer_card("ws", "ada", timeout=5) == card
    assert (wire.method, wire.target) == ("GET", "/v3/workspaces/ws/peers/ada/card")
    assert wire.body is None


@pytest.mark.parametrize(
    ("author", "filters"), [(None, {}), ("ada-1", {"filters": {"peer_id": {"in": ["ada-1"]}}})]
)
def test_messages_are_searched(
    answered: Answered, author: str | None, filters: dict[str, object]
) -> None:
    """A search covers the workspace, or what one of its peers said."""
    wire = Wire([MESSAGE])

    found = answered(wire).search_messages("ws", "Lisbon", limit=5, author=author, timeout=5)

    assert (wire.method, wire.target) == ("POST", "/v3/workspaces/ws/search")
    assert wire.body == {"query": "Lisbon", "limit": 5, **filters}
    assert found == (STORED,)


def test_conclusions_are_queried(answered: Answered) -> None:
    """Asked for are a peer's conclusions about itself, with or without a session."""
    conclusion = {
        "id": "eBOvFU57NEd-us32LiPnl",
        "content": "Prefers concise answers",
        "observer_id": "ada",
        "observed_id": "ada",
        "session_id": None,
        "level": "explicit",
        "created_at": "2026-11-30T22:51:33.098298Z",
    }
    wire = Wire([conclusion, conclusion | {"session_id": "df-t1"}])

    found = answered(wire).query_conclusions("ws", "ada", "how to answer", limit=3, timeout=5)

    assert (wire.method, wire.target) == ("POST", "/v3/workspaces/ws/conclusions/query")
    assert wire.body == {
        "query": "how to answer",
        "top_k": 3,
        "filters": {"observer_id": "ada", "observed_id": "ada"},
    }
    when = datetime(2026, 11, 30, 22, 51, 33, 98298, tzinfo=UTC)
    content = "Prefers concise answers"
    assert found == (
        Conclusion("eBOvFU57NEd-us32LiPnl", content, "ada", None, when),
        Conclusion("eBOvFU57NEd-us32LiPnl", content, "ada", "df-t1", when),
    )


def test_conclusions_are_queried_by_their_ids(answered: Answered) -> None:
    """The filter of the server's own language names them."""
    wire = Wire([])

    answered(wire).query_conclusions("ws", "ada", "x", limit=3, ids={"b", "a"}, timeout=5)

    assert {"in": ["a", "b"]} == wire.body["filters"]["id"]


def test_nobody_has_no_conclusions(answered: Answered) -> None:
    """A server that calls the peer unknown has no conclusions about it."""
    wire = Wire({"detail": "Peer ada not found in workspace ws"}, status=404)

    assert answered(wire).query_conclusions("ws", "ada", "x", limit=3, timeout=5) == ()


def test_closing_leaves_the_client_open(server: RunningServer) -> None:
    """Who opened the client closes it; the adapter refuses to use it any more."""
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        honcho = HttpHoncho(client)
        honcho.close()
        honcho.close()

        with pytest.raises(HonchoUnavailable) as caught:
            honcho.peer_card("ws", "ada", timeout=5)

        assert not caught.value.outcome_unknown
        assert server.requests == ()
        assert client.get("/health").json() == {"status": "ok"}


def test_closed_client_is_unavailable(server: RunningServer) -> None:
    """A call that comes after the client was closed fails like one without a server."""
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        honcho = HttpHoncho(client)

    with pytest.raises(HonchoUnavailable):
        honcho.peer_card("ws", "ada", timeout=5)


def test_client_closed_in_the_middle_is_unavailable(answered: Answered) -> None:
    """A call that was under way when the client was closed may have been carried out."""
    clients: list[httpx.Client] = []

    def close(_request: httpx.Request) -> httpx.Response:
        clients[0].close()
        raise RuntimeError("Cannot send a request, as the client has been closed.")

    client = httpx.Client(transport=httpx.MockTransport(close), base_url="http://honcho.test")
    clients.append(client)

    with pytest.raises(HonchoUnavailable) as caught:
        HttpHoncho(client).add_messages("ws", "s", [Outgoing("k", "a", "b", NOON)], timeout=5)

    assert caught.value.outcome_unknown
