"""What a memory reports of itself."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from honcho_memory import HonchoMemory, Settings
from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox
from honcho_memory.adapters.otel import totals
from honcho_memory.bootstrap import memory_of
from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable
from honcho_memory.domain.identity import workspace_hash

from .conftest import Observed, Open

THREAD = [
    {"role": "user", "id": "q1", "content": "I eat no meat"},
    {"role": "assistant", "id": "a1", "content": "noted"},
]
DOWN = HonchoUnavailable("Honcho is down", status=503)
PATIENCE = 60.0
OUTCOME = "honcho_memory.outcome"
ACCEPTED = "honcho_memory.messages.accepted"
DELIVERED = "honcho_memory.messages.delivered"
WAITING = "honcho_memory.messages.waiting"
SET_ASIDE = "honcho_memory.messages.set_aside"
REFUSED = "honcho_memory.hand_overs.refused"


def hash_of(user_id: str) -> str:
    """What stands for a user's workspace."""
    user = Settings().identities().user(user_id)
    assert user
    return workspace_hash(user.workspace)


def test_it_is_the_memory_that_everybody_knows(open_at: Open, honcho: InMemoryHoncho) -> None:
    """A context manager with everything a memory has, whose exit delivers."""
    with open_at() as memory:
        memory.warm()
        assert 2 == memory.remember("t", THREAD, user_id="ada")

    assert isinstance(memory, HonchoMemory)
    assert 2 == memory.stats().delivered


def test_a_recall_says_how_it_came_about(
    open_at: Open, observed: Observed, honcho: InMemoryHoncho
) -> None:
    """Each of the five ways has its own count, and its span."""
    memory = open_at(recall={"fresh_seconds": 1_000})
    memory.remember("t", THREAD, user_id="ada")
    assert memory.flush(PATIENCE)
    memory.recall(None)
    memory.recall("ada")
    memory.recall("ada")
    honcho.faults.fail(DOWN, times=None)
    memory.recall("ada", query="meat")
    memory.recall("eve")

    counts = {each[OUTCOME]: value for each, value in observed.points("honcho_memory.recalls")}
    assert {"nobody": 1, "cold": 1, "fresh": 1, "stale": 1, "failed": 1} == counts
    spans = observed.spans("honcho_memory.recall")
    assert [None, *[hash_of("ada")] * 3, hash_of("eve")] == [
        (span.attributes or {}).get("honcho_memory.workspace.hash") for span in spans
    ]
    assert [StatusCode.UNSET] * 4 + [StatusCode.ERROR] == [
        span.status.status_code for span in spans
    ]


def test_a_recall_that_raises_is_a_failed_one(
    open_at: Open, observed: Observed, honcho: InMemoryHoncho
) -> None:
    """Under `fail_closed` the host gets the error, and the operator the count."""
    memory = open_at(failure_policy={"read": "fail_closed"})
    honcho.faults.fail(DOWN, times=None)

    with pytest.raises(HonchoUnavailable):
        memory.recall("ada")

    assert [({OUTCOME: "failed"}, 1)] == observed.points("honcho_memory.recalls")
    (span,) = observed.spans("honcho_memory.recall")
    assert "HonchoUnavailable" == (span.attributes or {})["error.type"]


def test_requests_are_part_of_what_they_are_made_for(open_at: Open, observed: Observed) -> None:
    """A recall makes two side by side, on other threads, and its trace shows both."""
    open_at().recall("ada")

    (recall,) = observed.spans("honcho_memory.recall")
    for name in ("honcho_memory.representation", "honcho_memory.peer_card"):
        (request,) = observed.spans(name)
        assert request.parent == recall.context


def test_a_search_is_seen(open_at: Open, observed: Observed, honcho: InMemoryHoncho) -> None:
    """How much was found, or that Honcho could not be asked."""
    memory = open_at()
    memory.remember("t", THREAD, user_id="ada")
    assert memory.flush(PATIENCE)
    memory.search("meat", user_id="ada", top_k=1)
    honcho.faults.fail(DOWN, times=None)
    memory.search("meat", user_id="ada")

    assert [
        {"honcho_memory.search.hits": 1, "honcho_memory.workspace.hash": hash_of("ada")},
        {
            "honcho_memory.search.hits": 0,
            "honcho_memory.workspace.hash": hash_of("ada"),
            "error.type": "HonchoUnavailable",
            "http.response.status_code": 503,
        },
    ] == [span.attributes for span in observed.spans("honcho_memory.search")]


def test_whom_a_host_names_wrongly_has_no_workspace(open_at: Open, observed: Observed) -> None:
    """A user id that is no text fails as it does without being observed."""
    open_at().recall(7)  # type: ignore[arg-type]

    (span,) = observed.spans("honcho_memory.recall")
    assert {"error.type": "HonchoMemoryError"} == span.attributes


def test_delivery_is_seen(open_at: Open, observed: Observed) -> None:
    """Its request is a span of its own: it is made for nobody who waits."""
    memory = open_at()
    memory.remember("t", THREAD, user_id="ada")
    assert memory.flush(PATIENCE)

    (span,) = observed.spans("honcho_memory.add_messages")
    assert (SpanKind.CLIENT, None) == (span.kind, span.parent)
    assert {"honcho_memory.workspace.hash": hash_of("ada")} == span.attributes


def test_messages_are_counted(open_at: Open, observed: Observed, honcho: InMemoryHoncho) -> None:
    """Accepted, delivered, set aside, waiting; and hand-overs that were refused."""
    memory = open_at(outbox={"max_messages": 3})
    refusal = HonchoRejected("no", status=422, refused={1: "no"})
    honcho.faults.fail(refusal, operation="add_messages")
    memory.remember("t", THREAD, user_id="ada")
    assert memory.flush(PATIENCE)
    honcho.faults.fail(DOWN, times=None)
    memory.remember("u", THREAD[:1], user_id="ada")
    memory.remember("v", THREAD, user_id="ada")

    assert (3, 1, 1) == tuple(map(observed.value, (ACCEPTED, DELIVERED, REFUSED)))
    assert (1, 1) == (observed.value(SET_ASIDE), observed.value(WAITING))
    units = observed.units()
    assert ["{message}"] * 4 == [units[name] for name in (ACCEPTED, DELIVERED, SET_ASIDE, WAITING)]
    assert "{hand_over}" == units[REFUSED]


def test_a_closed_memory_is_let_go_and_what_it_did_stays(open_at: Open, observed: Observed) -> None:
    """No counter goes back, nothing is said of an outbox that is closed, and nobody holds it."""
    memory = open_at()
    memory.remember("t", THREAD, user_id="ada")
    assert memory.flush(PATIENCE)
    memory.close()
    memory.close()

    assert (2, None) == (observed.value(DELIVERED), observed.value(WAITING))
    assert observed.telemetry._signals.totals._open == {}


def test_a_lost_memory_is_not_kept_alive(observed: Observed, honcho: InMemoryHoncho) -> None:
    """Who drops a memory without closing it is rid of it, and it counts as it was seen last."""
    container = observed.container(honcho)
    memory = memory_of(container)
    memory.remember("t", THREAD, user_id="ada")
    lost = weakref.ref(memory)
    assert 2 == observed.value(ACCEPTED)

    del memory
    gc.collect()

    assert lost() is None
    assert (2, None) == (observed.value(ACCEPTED), observed.value(WAITING))
    container.delivery().close(PATIENCE)
    container.shutdown_resources()


def test_memories_of_one_process_add_up(
    open_at: Open, observed: Observed, honcho: InMemoryHoncho
) -> None:
    """Each with an outbox of its own: their messages are different ones."""
    honcho.faults.fail(DOWN, times=None)
    open_at().remember("t", THREAD, user_id="ada")
    open_at().remember("t", THREAD, user_id="eve")

    assert (4, 4) == (observed.value(ACCEPTED), observed.value(WAITING))


def test_what_waits_in_a_shared_outbox_is_counted_once(
    open_at: Open, observed: Observed, honcho: InMemoryHoncho, tmp_path: Path
) -> None:
    """Be it a file or an object, whoever looks into it sees the same messages."""
    honcho.faults.fail(DOWN, times=None)
    for number in range(2):
        open_at(storage_path=str(tmp_path)).remember(f"t{number}", THREAD, user_id="ada")
    shared = InMemoryOutbox()
    for number in range(2):
        open_at(shared).remember(f"t{number}", THREAD, user_id="ada")

    assert (8, 8) == (observed.value(ACCEPTED), observed.value(WAITING))


def test_an_outbox_that_cannot_be_read_is_left_out(open_at: Open, observed: Observed) -> None:
    """Nothing is said, rather than that nothing waits."""
    outbox = InMemoryOutbox()
    open_at(outbox)
    outbox.close()

    assert (0, None) == (observed.value(ACCEPTED), observed.value(WAITING))


def test_a_fork_counts_from_the_beginning(open_at: Open, observed: Observed) -> None:
    """What was counted before it is the parent's to report, also if a thread was at it."""
    memory = open_at()
    memory.remember("t", THREAD, user_id="ada")
    observed.telemetry._signals.totals._lock.acquire()

    totals._after_fork()
    assert 0 == observed.value(ACCEPTED)
    memory.remember("u", THREAD[:1], user_id="ada")

    assert 1 == observed.value(ACCEPTED)


def test_nothing_that_is_reported_tells_who_said_what(
    open_at: Open, observed: Observed, honcho: InMemoryHoncho
) -> None:
    """No user, no thread, no workspace, no text; not even where a server repeats them."""
    memory = open_at()
    honcho.faults.fail(
        HonchoRejected("no", status=422, said="Zaphod says: heart of gold", refused={0: "Zaphod"}),
        operation="add_messages",
    )
    said = [{"role": "user", "id": "m1", "content": "heart of gold"}]
    memory.remember("milliways", said, user_id="Zaphod")
    assert memory.flush(PATIENCE)
    honcho.faults.fail(HonchoUnavailable("Zaphod", status=503), times=None)
    memory.recall("Zaphod", query="heart of gold")
    memory.search("heart of gold", user_id="Zaphod")

    reported = observed.everything()

    assert "honcho_memory.search" in reported
    secrets = ("zaphod", "heart of gold", "milliways", "deerflow-u")
    assert [] == [secret for secret in secrets if secret in reported]
