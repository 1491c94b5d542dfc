"""The memory as a whole over HTTP."""

from __future__ import annotations

import json
from typing import NoReturn

import httpx
import pytest
from deerflow_host.document import Document as DeerFlowDocument
from http_host import app_with, client_of, current_user, problem

from honcho_memory import HonchoMemory, HonchoUnavailable, open_memory
from honcho_memory.adapters.http_api import memory_router
from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.domain.errors import OutboxUnavailable

DOWN = HonchoUnavailable("Honcho is down", status=503)


async def test_a_document_is_deerflows(client: httpx.AsyncClient) -> None:
    """Its settings page could show it, and import it again."""
    empty = (await client.get("/memory")).json()
    await client.post("/memory/facts", json={"content": "Likes tea."})
    await client.put("/memory/profile", json={"form_of_address": "Ada"})

    document = (await client.get("/memory")).json()

    assert DeerFlowDocument.model_validate(empty).can_be_imported()
    assert DeerFlowDocument.model_validate(document).can_be_imported()
    assert "2026-12-01T00:00:00Z" == empty["lastUpdated"]
    assert "Likes tea." in document["user"]["workContext"]["summary"]
    assert "Ada" in document["user"]["personalContext"]["summary"]
    assert ["Likes tea."] == [fact["content"] for fact in document["facts"]]
    assert document == (await client.get("/memory/export")).json()


async def test_it_is_read_anew_on_request(
    client: httpx.AsyncClient, honcho: InMemoryHoncho
) -> None:
    """Else what is fresh is served again."""
    await client.post("/memory/facts", json={"content": "Likes tea."})
    await client.get("/memory")
    honcho.forget_requests()

    await client.get("/memory")
    kept = [request.operation for request in honcho.requests]
    await client.get("/memory?reload=true")
    asked = [request.operation for request in honcho.requests]

    assert "representation" not in kept
    assert "representation" in asked
    problem(await client.get("/memory?reload=perhaps"), 422)


async def test_an_empty_document_for_want_of_an_answer_says_so(
    client: httpx.AsyncClient, honcho: InMemoryHoncho
) -> None:
    """The read policy lets it through; an export is an error all the same."""
    honcho.faults.fail(DOWN, times=None)

    document = await client.get("/memory")

    assert (200, "true") == (document.status_code, document.headers["memory-unavailable"])
    assert [] == document.json()["facts"]
    problem(await client.get("/memory/export"), 503)
    honcho.faults.clear()


async def test_a_strict_read_policy_is_an_error(honcho: InMemoryHoncho) -> None:
    """Whoever asks for `fail_closed` wants to know."""
    settings = {"failure_policy": {"read": "fail_closed"}}
    memory = open_memory(settings, honcho=honcho)
    honcho.faults.fail(DOWN, times=None)

    async with client_of(app_with(memory_router(memory, user_id=current_user))) as client:
        problem(await client.get("/memory"), 503)
        problem(await client.get("/memory/search?q=tea"), 503)


async def test_an_export_is_imported_once(client: httpx.AsyncClient) -> None:
    """By somebody else too; the answer says what became of it."""
    await client.post("/memory/facts", json={"content": "Likes tea."})
    document = (await client.get("/memory/export")).json()
    document["facts"] += [{"content": "Cycles.", "confidence": 7}, "nonsense"]

    first = await client.post("/memory/import", json=document, headers={"user": "eve"})
    second = await client.post("/memory/import", json=document, headers={"user": "eve"})

    skipped = [
        {
            "place": "facts[1]",
            "reason": "the confidence of a fact must be a number between 0 and 1",
        },
        {"place": "facts[2]", "reason": "a fact must be a mapping, not str"},
    ]
    assert {"added": 1, "duplicates": 0, "skipped": skipped} == first.json()
    assert {"added": 0, "duplicates": 1, "skipped": skipped} == second.json()


async def test_summaries_and_odd_characters_are_imported(client: httpx.AsyncClient) -> None:
    """DeerFlow's own documents have both, and more than is known here."""
    document = {
        "more": {"\ud800": [1, None]},
        "facts": None,
        "user": {"topOfMind": {"summary": "Tea\ud83c\udf75 \udc00"}},
    }
    headers = {"content-type": "application/json"}

    answer = await client.post("/memory/import", content=json.dumps(document), headers=headers)

    assert 1 == answer.json()["added"]
    (fact,) = (await client.get("/memory/facts")).json()["facts"]
    assert ("Tea🍵 \ufffd", "topOfMind") == (fact["content"], fact["category"])


@pytest.mark.parametrize("body", [{}, {"facts": 5}, {"memory": {}}, [], 5])
async def test_what_is_no_document_is_refused(client: httpx.AsyncClient, body: object) -> None:
    """Nothing is imported of it."""
    problem(await client.post("/memory/import", json=body), 422)


async def test_a_memory_is_cleared(client: httpx.AsyncClient, memory: HonchoMemory) -> None:
    """The answer names what Honcho deletes in its own time."""
    memory.remember("t", [{"role": "user", "id": "1", "content": "I cycle."}], user_id="ada")
    memory.flush(30)

    cleared = (await client.delete("/memory")).json()

    assert (1, [], 1) == (
        len(cleared["sessions"]),
        cleared["kept_sessions"],
        cleared["conclusions"],
    )
    assert [] == (await client.get("/memory")).json()["facts"]


async def test_a_conversation_with_others_is_named(honcho: InMemoryHoncho) -> None:
    """What the user said there stays, and they are told where."""
    with open_memory(
        {"workspace_overrides": {"ada": "team", "eve": "team"}}, honcho=honcho
    ) as memory:
        for user in ("ada", "eve"):
            memory.remember("t", [{"role": "user", "id": user, "content": "Hi."}], user_id=user)
        memory.flush(30)

        async with client_of(app_with(memory_router(memory, user_id=current_user))) as client:
            cleared = (await client.delete("/memory")).json()

    assert ([], 1) == (cleared["sessions"], len(cleared["kept_sessions"]))


class BrokenOutbox(InMemoryOutbox):
    """Its disk is full."""

    def forget(
        self, server: str, workspace: str, owner: str, *, until: float, now: float
    ) -> NoReturn:
        raise OutboxUnavailable("/secret/path: disk full")


async def test_clearing_may_have_to_wait_for_the_disk(
    honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """Nothing was deleted, and it may be tried again; where the disk is stays a secret."""
    memory = open_memory(honcho=honcho, outbox=BrokenOutbox(), clock=clock)

    async with client_of(app_with(memory_router(memory, user_id=current_user))) as client:
        answer = await client.delete("/memory")

    assert "5" == answer.headers["retry-after"]
    assert "secret" not in str(problem(answer, 503))
