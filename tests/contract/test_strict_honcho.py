"""What was seen of a real Honcho 3.0.12 and has no recording, and the ways to make ours fail."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from honcho_memory.testing.strict_honcho import RunningServer, running_server
from honcho_memory.testing.strict_honcho.server import KEEP_ALIVE_SECONDS

SUPPORT = Path(__file__).parents[1] / "support"

KEYED = {"in": ["m1", "m2"]}
UNKEYED = {"NOT": [{"metadata": {"host_message_id": {"ne": ""}}}]}


@pytest.fixture
def client(honcho_server: RunningServer) -> Generator[httpx.Client]:
    with httpx.Client(
        base_url=f"{honcho_server.url}/v3/workspaces/ws", trust_env=False, timeout=60
    ) as opened:
        yield opened


def say(client: httpx.Client, *contents: str, session: str = "s", **more: Any) -> httpx.Response:
    messages = [{"peer_id": "ada", "content": content, **more} for content in contents]
    return client.post(f"/sessions/{session}/messages", json={"messages": messages})


def keyed(client: httpx.Client, *keys: object) -> None:
    for key in keys:
        metadata = {} if key is None else {"host_message_id": key}
        assert say(client, f"with {key!r}", metadata=metadata).status_code == 201


def contents(client: httpx.Client, filters: object = None, query: str = "") -> Sequence[str]:
    answer = client.post(f"/sessions/s/messages/list{query}", json={"filters": filters})
    assert answer.status_code == 200
    return [item["content"] for item in answer.json()["items"]]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"metadata": {"host_message_id": KEYED}}, ["with 'm1'", "with 'm2'"]),
        ({"metadata": {"host_message_id": "m1"}}, ["with 'm1'"]),
        ({"metadata": {"host_message_id": {"in": ["1"]}}}, []),
        ({"metadata": {"host_message_id": {"in": [1]}}}, ["with 1"]),
        ({"metadata": {"host_message_id": {"in": [True]}}}, []),
        ({"metadata": {"host_message_id": {"in": []}}}, []),
        (
            {"metadata": {"host_message_id": {"in": ["m1", "*"]}}},
            ["with 'm1'", "with None", "with 'm2'", "with 1"],
        ),
        (UNKEYED, ["with None"]),
        (
            {"OR": [{"metadata": {"host_message_id": {"in": ["m2"]}}}, UNKEYED]},
            ["with None", "with 'm2'"],
        ),
        (
            {"AND": [{"peer_id": "ada"}, {"NOT": [UNKEYED, {"peer_id": "bob"}]}]},
            ["with 'm1'", "with 'm2'", "with 1"],
        ),
        ({"peer_id": {"ne": "ada"}}, []),
        ({"created_at": {"gte": "2000-01-01", "lt": "2001-01-01T00:00:00Z"}}, []),
    ],
)
def test_messages_are_filtered(
    client: httpx.Client, condition: object, found: Sequence[str]
) -> None:
    """Filters are strictly typed; a wildcard matches everything, a missing key no `ne`."""
    keyed(client, "m1", None, "m2", 1)

    assert contents(client, condition) == found


@pytest.mark.parametrize(
    "condition",
    [
        [],
        {"colour": "red"},
        {"OR": {}},
        {"metadata": "x"},
        {"peer_id": {"like": "a"}},
        {"peer_id": {"in": "ada"}},
        {"created_at": {"gte": "noon"}},
    ],
)
def test_filters_that_make_no_sense_are_refused(client: httpx.Client, condition: object) -> None:
    """An unknown key, operator or shape is a 422."""
    say(client, "hello")

    answer = client.post("/sessions/s/messages/list", json={"filters": condition})

    assert answer.status_code == 422


def test_lists_come_in_pages(client: httpx.Client) -> None:
    """Pages count from 1, hold at most 100, and can be turned round; insertion decides."""
    say(client, *(f"n{number}" for number in range(5)), created_at="1999-12-31T23:00:00-01:00")
    say(client, "n5")

    assert contents(client, query="?size=4&page=2") == ["n4", "n5"]
    assert contents(client, query="?size=4&page=3") == []
    assert contents(client, query="?size=2&reverse=true") == ["n5", "n4"]
    assert client.post("/sessions/s/messages/list?size=101", json={}).status_code == 422
    first = client.post("/sessions/s/messages/list?size=1", json={}).json()
    assert (first["total"], first["pages"]) == (6, 6)
    assert first["items"][0]["created_at"] == "2000-01-01T00:00:00Z"


def test_what_does_not_exist_is_empty(honcho_server: RunningServer, client: httpx.Client) -> None:
    """Reading creates nothing, whatever the ids in the path are."""
    assert client.post("/sessions/a.b/messages/list", json={}).json()["items"] == []
    assert client.get("/peers/ada/card").status_code == 404
    assert honcho_server.state.workspaces() == ()


def test_nul_is_stripped(client: httpx.Client) -> None:
    """A NUL is gone from texts and from metadata."""
    stored = say(client, "a\x00b", metadata={"k\x00": ["\x00v", {"n": 1.5}]}).json()[0]

    assert (stored["content"], stored["metadata"]) == ("ab", {"k": ["v", {"n": 1.5}]})


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ('{"n": NaN}', 500),
        ('{"a": {"b": {"c": {"d": 1}}}}', 201),
        ('{"a": {"b": {"c": {"d": [{"e": 1}]}}}}', 201),
        ('{"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}', 422),
        ("{" + ",".join(f'"k{number}": 1' for number in range(101)) + "}", 422),
    ],
)
def test_metadata_has_limits(client: httpx.Client, metadata: str, status: int) -> None:
    """Metadata that is too deep, too broad or no JSON is refused in the real server's ways."""
    body = f'{{"id": "ada", "metadata": {metadata}}}'
    answer = client.post("/peers", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == status


def test_peer_is_not_observed_once_it_says_so(
    honcho_server: RunningServer, client: httpx.Client
) -> None:
    """The peer's own configuration works for peers that exist, and is replaced as a whole."""
    say(client, "before")
    client.post("/peers", json={"id": "ada", "configuration": {"observe_me": False}})
    say(client, "after")

    text = client.post("/peers/ada/representation", json={}).json()["representation"]
    assert ("before" in text, "after" in text) == (True, False)
    assert honcho_server.state.peer_configuration("ws", "ada") == {"observe_me": False}
    assert honcho_server.state.peer_configuration("ws", "nobody") is None


def test_representation_holds_the_newest(client: httpx.Client) -> None:
    """The newest conclusions, or half of them those near a query, come oldest first."""
    say(client, *(f"day {number}" for number in range(5)), "I live in Lisbon", "x", "y", "z")

    def read(**body: object) -> Sequence[str]:
        text: str = client.post("/peers/ada/representation", json=body).json()["representation"]
        return [line.partition("said: ")[2] for line in text.splitlines()[2:]]

    assert read(max_conclusions=2) == ["y", "z"]
    assert read(max_conclusions=2, search_query="in Lisbon") == ["I live in Lisbon", "z"]


def test_metadata_of_a_peer_is_replaced(honcho_server: RunningServer, client: httpx.Client) -> None:
    """What is given replaces what was there; what is left out stays."""
    client.post("/peers", json={"id": "ada", "metadata": {"a": 1}})
    client.post("/peers", json={"id": "ada"})
    assert honcho_server.state.peer_metadata("ws", "ada") == {"a": 1}

    client.put("/peers/ada", json={"metadata": {"b": 2}})
    assert honcho_server.state.peer_metadata("ws", "ada") == {"b": 2}


def test_session_is_gone_once_its_deletion_has_finished(
    honcho_server: RunningServer, client: httpx.Client
) -> None:
    """Until then it is listed for its peers and cannot be written; then it can begin afresh."""
    say(client, "forget me")
    assert client.delete("/sessions/s").status_code == 202

    assert say(client, "too early").status_code == 404
    assert client.post("/sessions", json={"id": "s"}).status_code == 404
    of_peer = client.post("/peers/ada/sessions", json={}).json()["items"]
    assert [(session["id"], session["is_active"]) for session in of_peer] == [("s", False)]
    assert client.post("/sessions/list", json={}).json()["items"] == []
    assert contents(client) == ["forget me"]

    honcho_server.finish_deletions()

    assert honcho_server.state.sessions("ws") == ()
    assert client.post("/peers/ada/representation", json={}).json() == {"representation": ""}
    assert say(client, "afresh").status_code == 201
    assert [message.content for message in honcho_server.state.messages("ws", "s")] == ["afresh"]


def test_what_is_written_to_a_workspace_being_deleted_is_lost(
    honcho_server: RunningServer, client: httpx.Client
) -> None:
    """The server accepts such messages and then loses them."""
    say(client, "first")
    client.delete("/sessions/s")
    honcho_server.finish_deletions()
    assert client.delete(f"{honcho_server.url}/v3/workspaces/ws").status_code == 202

    assert say(client, "lost").status_code == 201
    honcho_server.finish_deletions()

    assert honcho_server.state.workspaces() == ()


def test_conclusions_are_found_by_filter(client: httpx.Client) -> None:
    """A query needs observer and observed, takes ids, and a threshold leaves out what is far."""
    say(client, "hello")
    body = {"content": "Works on compilers", "observer_id": "ada", "observed_id": "ada"}
    [made] = client.post("/conclusions", json={"conclusions": [body]}).json()
    about = {"observer": "ada", "observed": "ada"}

    def query(**more: object) -> httpx.Response:
        return client.post("/conclusions/query", json={"query": "compilers", **more})

    assert query().status_code == 422
    assert [c["id"] for c in query(filters=about | {"id": {"in": [made["id"]]}}).json()] == [
        made["id"]
    ]
    assert len(query(filters=about).json()) == 2
    assert query(filters=about, distance=0.5).json() == [made]


def test_connection_is_closed_after_an_unexpected_error(honcho_server: RunningServer) -> None:
    """The real server does so without a word, and so does this one."""
    body = b'{"messages": [{"peer_id": "ada", "content": "x"}]}'
    head = (
        "POST /v3/workspaces/ws/sessions/a.b/messages HTTP/1.1\r\nHost: honcho\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    address = httpx.URL(honcho_server.url)
    with socket.create_connection(
        (address.host, address.port), timeout=KEEP_ALIVE_SECONDS / 2
    ) as connection:
        connection.sendall(head.encode() + body)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))

    answer, _, _ = received.lower().partition(b"\r\n\r\n")
    assert answer.startswith(b"http/1.1 500")
    assert b"\r\nconnection:" not in answer


def test_faults_happen_to_the_requests_they_are_for(
    honcho_server: RunningServer, client: httpx.Client
) -> None:
    """A fault matches by method and path, so many times, and can be taken back."""
    fault = honcho_server.faults.answer(
        503, body={"detail": "no"}, headers={"Retry-After": "2"}, path="/card", times=2
    )
    honcho_server.faults.answer(418, method="DELETE", times=None)

    assert client.post("/peers", json={"id": "ada"}).status_code == 201
    refused = client.get("/peers/ada/card")
    assert (refused.status_code, refused.json()) == (503, {"detail": "no"})
    assert refused.headers["Retry-After"] == "2"
    fault.stop()
    assert client.get("/peers/ada/card").status_code == 200
    assert fault.hits == 1
    assert client.delete("/sessions/s").status_code == 418
    honcho_server.faults.clear()
    assert client.delete("/sessions/s").status_code == 404


def test_lost_answers_may_be_carried_out_later(
    honcho_server: RunningServer, client: httpx.Client
) -> None:
    """The connection is gone at once; the messages come when the test lets them."""
    fault = honcho_server.faults.carry_out_later(path="/messages")
    with pytest.raises(httpx.RemoteProtocolError):
        say(client, "late")
    assert honcho_server.state.messages("ws", "s") == ()

    fault.release()
    fault.wait_until_done()

    assert [message.content for message in honcho_server.state.messages("ws", "s")] == ["late"]


def test_server_stops_with_requests_held_up() -> None:
    """Requests that hang, drip or wait for later do not keep a test from its end."""
    with (
        running_server() as honcho_server,
        httpx.Client(base_url=honcho_server.url, trust_env=False, timeout=60) as client,
    ):
        late = honcho_server.faults.carry_out_later(method="POST")
        dripping = honcho_server.faults.drip(method="GET")
        with pytest.raises(httpx.RemoteProtocolError):
            client.post("/v3/workspaces", json={"id": "ws"})
        with client.stream("GET", "/health"):
            dripping.wait_until_hit()
            honcho_server.stop()

    assert late.hits == 1
    assert honcho_server.state.workspaces() == ()


def test_requests_are_noted(honcho_server: RunningServer, client: httpx.Client) -> None:
    """What arrived can be looked at afterwards."""
    say(client, "hello")
    client.get("/peers/ada/card?a=b")

    written, read = honcho_server.requests
    assert (written.method, written.path) == ("POST", "/v3/workspaces/ws/sessions/s/messages")
    assert written.body == {"messages": [{"peer_id": "ada", "content": "hello"}]}
    assert written.size == int(written.headers["content-length"])
    assert (read.method, read.path) == ("GET", "/v3/workspaces/ws/peers/ada/card?a=b")
    assert (read.size, read.body) == (0, None)
    honcho_server.forget_requests()
    assert honcho_server.requests == ()


def test_runs_as_a_process_of_its_own() -> None:
    """Its first line is its URL; there, deletions can be finished as they are asked for."""
    command = [
        sys.executable,
        "-m",
        "honcho_memory.testing.strict_honcho",
        "--port",
        "0",
        "--finish-deletions",
    ]
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip() + "/v3/workspaces/ws"
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
                assert say(client, "hello").status_code == 201
                assert client.delete("/sessions/s").status_code == 202
                assert contents(client) == []
                assert client.delete(url).status_code == 202
                assert client.delete(url).status_code == 404
        finally:
            process.kill()
