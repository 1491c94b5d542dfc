"""At the start the operator learns whether Honcho can be used."""

from __future__ import annotations

import logging

import pytest

from honcho_memory import open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import ServerState
from honcho_memory.application.warming import CHECK_ID, WARM_TIMEOUT, Warming
from honcho_memory.domain.errors import (
    HonchoProtocolError,
    HonchoRejected,
    HonchoUnauthorized,
    HonchoUnavailable,
)
from honcho_memory.domain.identity import Identities
from honcho_memory.ports.honcho import MemoryReads

SERVER = "http://honcho.test"
REFUSED = HonchoUnavailable("connection refused")
TURN = [{"role": "user", "id": "q1", "content": "hello"}]


@pytest.fixture
def warming(honcho: InMemoryHoncho, requests: Requests, state: ServerState) -> Warming:
    """The check of a Honcho in memory."""
    return Warming(honcho, requests, state, server=SERVER, workspace="ws")


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What an operator reads."""
    caplog.set_level(logging.INFO, logger="honcho_memory")
    return caplog


def test_all_is_well(
    warming: Warming, honcho: InMemoryHoncho, said: pytest.LogCaptureFixture
) -> None:
    """One request that creates nothing, and one line that says so."""
    warming.warm()

    assert [("ws", CHECK_ID)] == [(request.workspace, request.peer) for request in honcho.requests]
    assert () == tuple(honcho.workspaces())
    assert [("INFO", f"Honcho at {SERVER} can be used")] == [
        (record.levelname, record.message) for record in said.records
    ]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            REFUSED,
            "Honcho cannot be used: connection refused; "
            "check that it runs and that base_url is its address",
        ),
        (
            HonchoUnauthorized("it answered 401", status=401),
            "Honcho cannot be used: it answered 401; check the key in api_key_env or api_key",
        ),
        (
            HonchoProtocolError("this is no Honcho v3; check base_url"),
            "Honcho cannot be used: this is no Honcho v3; check base_url",
        ),
        (
            HonchoUnavailable("it answered 500", status=500),
            f"Honcho at {SERVER} could not be checked: it answered 500",
        ),
        (HonchoRejected("no", status=422), f"Honcho at {SERVER} could not be checked: no"),
        (RuntimeError("secret"), f"Honcho at {SERVER} could not be checked: RuntimeError"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    warming: Warming,
    honcho: InMemoryHoncho,
    said: pytest.LogCaptureFixture,
    error: Exception,
    line: str,
) -> None:
    """Whatever it is, the start goes on, and the operator reads what it is and what to do."""
    honcho.faults.fail(error)

    warming.warm()

    assert [("WARNING", line)] == [(record.levelname, record.message) for record in said.records]


def test_a_known_outage_is_not_said_again(
    warming: Warming, honcho: InMemoryHoncho, said: pytest.LogCaptureFixture
) -> None:
    """Who finds a dead server first says so, for everybody."""
    honcho.faults.fail(REFUSED)
    warming.warm()
    said.clear()

    warming.warm()

    assert [] == said.messages
    assert 1 == len(honcho.requests)


def test_the_start_waits_no_longer_than_its_limit(requests: Requests, state: ServerState) -> None:
    """The check has a small limit of its own, whatever a recall may take."""
    timeouts: list[float] = []

    class Watching(InMemoryHoncho):
        """Notes how long a read may take."""

        def representation(
            self,
            workspace: str,
            peer: str,
            *,
            max_conclusions: int,
            query: str | None = None,
            timeout: float,
        ) -> str:
            timeouts.append(timeout)
            return ""

    honcho: MemoryReads = Watching()
    Warming(honcho, requests, state, server=SERVER, workspace="ws").warm()

    assert [WARM_TIMEOUT] == timeouts


@pytest.mark.parametrize(
    ("settings", "workspace"),
    [
        ({}, "deerflow-u-honcho-memory-check"),
        ({"workspace_prefix": "bot-"}, "bot-honcho-memory-check"),
        ({"workspace_overrides": {"ada": "team"}}, "team"),
    ],
)
def test_the_check_is_made_where_the_key_has_to_fit(
    honcho: InMemoryHoncho, settings: dict[str, object], workspace: str
) -> None:
    """A key may be for one shared workspace alone, and is then good enough."""
    with open_memory(settings, honcho=honcho) as memory:
        memory.warm()

    assert [workspace] == [request.workspace for request in honcho.requests]


def test_what_waits_from_an_earlier_start_is_delivered(
    honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """A host that starts again need not wait for its users to say something."""
    outbox = InMemoryOutbox()
    down = honcho.faults.fail(REFUSED, times=None)
    with open_memory(honcho=honcho, outbox=outbox, clock=clock) as memory:
        memory.remember("t", TURN, user_id="ada")
        down.wait_until_hit()
        memory.close()
    down.stop()
    clock.advance(3600)
    arrived = honcho.faults.hold(operation="add_messages")
    arrived.release()

    later = open_memory(honcho=honcho, outbox=outbox, clock=clock)
    later.warm()
    arrived.wait_until_hit()
    later.close()

    (workspace,) = honcho.workspaces()
    session = Identities().session("t")
    assert ["hello"] == [message.content for message in honcho.messages(workspace, session)]


def test_an_outage_ends_for_whoever_only_asks_whether_it_has(
    honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """It is tried again, not more often than the pauses allow."""
    memory = open_memory(honcho=honcho, clock=clock)
    assert memory.is_usable()
    assert [] == honcho.requests

    honcho.faults.fail(HonchoUnavailable("connection refused"), times=None)
    memory.recall("ada")
    honcho.faults.clear()
    honcho.forget_requests()

    assert not memory.is_usable()
    assert [] == honcho.requests
    clock.advance(60)
    assert memory.is_usable()
    assert 1 == len(honcho.requests)
