"""Facts over HTTP."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urljoin

import httpx
import pytest
from fastapi import FastAPI
from http_host import app_with, client_of, current_user, problem
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Message

from honcho_memory import HonchoUnavailable, open_memory
from honcho_memory.adapters.http_api import memory_router
from honcho_memory.adapters.in_memory import InMemoryHoncho

TEA = {
    "content": "Likes tea.",
    "category": "preference",
    "confidence": 0.9,
    "createdAt": "2026-12-01T00:00:00Z",
    "source": "manual",
}
JSON = {"content-type": "application/json"}


async def added(client: httpx.AsyncClient, content: str = "Likes tea.") -> dict[str, Any]:
    """A fact of Ada's."""
    body = {"content": content, "category": "preference", "confidence": 0.9}
    fact: dict[str, Any] = (await client.post("/memory/facts", json=body)).json()
    return fact


async def test_a_fact_is_added_read_changed_and_deleted(client: httpx.AsyncClient) -> None:
    """Its whole life; it is shown as DeerFlow shows facts."""
    answer = await client.post("/memory/facts", json={"content": " Likes tea. ", "confidence": 1})
    place = urljoin("/memory/facts", answer.headers["location"])
    assert 201 == answer.status_code
    fact = answer.json()
    assert {**TEA, "id": fact["id"], "category": "context", "confidence": 1.0} == fact
    assert fact == (await client.get(place)).json()
    assert {"facts": [fact]} == (await client.get("/memory/facts")).json()

    changed = (await client.patch(place, json={"category": "habit"})).json()
    assert {**fact, "category": "habit"} == changed

    gone = await client.delete(place)
    assert (204, b"") == (gone.status_code, gone.content)
    assert {"facts": []} == (await client.get("/memory/facts")).json()


async def test_nobody_sees_the_facts_of_another(client: httpx.AsyncClient) -> None:
    """They are not even there to be deleted."""
    fact = await added(client)

    for method in ("GET", "PATCH", "DELETE"):
        body: dict[str, Any] | None = {} if method == "PATCH" else None
        answer = await client.request(
            method, f"/memory/facts/{fact['id']}", json=body, headers={"user": "eve"}
        )
        assert "urn:honcho-memory:unknown-fact" == problem(answer, 404)["type"]
    assert {**TEA, "id": fact["id"]} == fact


async def test_a_fact_is_not_added_twice(client: httpx.AsyncClient) -> None:
    """Nor is another one changed into it."""
    await added(client)
    other = await added(client, "Cycles.")

    again = await client.post("/memory/facts", json={"content": "likes TEA."})
    changed = await client.patch(f"/memory/facts/{other['id']}", json={"content": "Likes tea."})

    for answer in (again, changed):
        assert "urn:honcho-memory:duplicate-fact" == problem(answer, 409)["type"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ("{}", "#/content"),
        ('{"content": " \\u0000\\ufeff "}', "#/content"),
        ('{"content": 5}', "#/content"),
        ('{"content": "Likes tea.", "confidence": NaN}', "#/confidence"),
        ('{"content": "Likes tea.", "confidence": 1e999}', "#/confidence"),
        ('{"content": "Likes tea.", "confidence": 1' + 400 * "0" + "}", "#/confidence"),
        ('{"content": "Likes tea.", "confidence": true}', "#/confidence"),
        ('{"content": "Likes tea.", "catgory": "habit"}', "#/catgory"),
        ('{"content": "Likes tea.", "a/~ é": 1}', "#/a~1~0%20%C3%A9"),
        ('{"content": "\\ud800"}', "#/content"),
        ('{"content": "Likes tea.", "\\udc00": 1}', "#"),
        ('{"content": ', "#"),
        ("[]", "#"),
        ("", "#"),
    ],
)
async def test_what_is_wrong_with_a_fact_is_named(
    client: httpx.AsyncClient, body: str, pointer: str
) -> None:
    """With the place, and without what was said there."""
    answer = await client.post("/memory/facts", content=body, headers=JSON)

    wrong = problem(answer, 422)
    assert "urn:honcho-memory:invalid-request" == wrong["type"]
    assert pointer in [error["pointer"] for error in wrong["errors"]]
    assert "tea" not in answer.text


@pytest.mark.parametrize("body", [b"\xff\xfe{", 100_000 * b"[", b"1" * 5_000])
async def test_what_cannot_be_read_at_all_is_the_callers_fault(
    client: httpx.AsyncClient, body: bytes
) -> None:
    """No encoding, too deep, too long a number: FastAPI says no more than that."""
    answer = await client.post("/memory/facts", content=body, headers=JSON)

    assert "about:blank" == problem(answer, 400)["type"]


async def test_what_is_wrong_is_not_told_without_end(client: httpx.AsyncClient) -> None:
    """An answer is not larger than what was asked."""
    body = {"content": "Likes tea.", **{f"name{number}": 1 for number in range(1_000)}}

    assert 100 == len(problem(await client.post("/memory/facts", json=body), 422)["errors"])


async def test_what_only_honcho_can_tell_is_named_too(
    client: httpx.AsyncClient, honcho: InMemoryHoncho
) -> None:
    """A text can become too long by being made harmless."""
    content = "<|endoftext|>" * 5_041
    assert 65_533 == len(content)

    wrong = problem(await client.post("/memory/facts", json={"content": content}), 422)

    assert "urn:honcho-memory:invalid-fact" == wrong["type"]
    assert ["#/content"] == [error["pointer"] for error in wrong["errors"]]


async def test_it_is_said_when_it_may_have_been_done(
    client: httpx.AsyncClient, honcho: InMemoryHoncho
) -> None:
    """Whoever tries again gets one fact."""
    honcho.faults.lose_answer(operation="create_conclusions")

    lost = problem(await client.post("/memory/facts", json={"content": "Likes tea."}), 503)

    assert "done all the same" in lost["detail"]
    assert 201 == (await client.post("/memory/facts", json={"content": "Likes tea."})).status_code
    assert 1 == len((await client.get("/memory/facts")).json())


async def test_an_outage_is_told_with_a_time(
    client: httpx.AsyncClient, honcho: InMemoryHoncho
) -> None:
    """That which Honcho asks for, in whole seconds."""
    honcho.faults.fail(HonchoUnavailable("at http://internal", status=503, retry_after=6.5))

    answer = await client.get("/memory/facts")

    assert "7" == answer.headers["retry-after"]
    assert "internal" not in str(problem(answer, 503))


@pytest.fixture(scope="module")
def app() -> FastAPI:
    """An application for many requests."""
    return app_with(memory_router(open_memory(honcho=InMemoryHoncho()), user_id=current_user))


# A client makes a shorter path of dots before it sends it.
@given(
    fact_id=st.text().filter(lambda each: each not in {".", ".."}),
    method=st.sampled_from(["GET", "PATCH", "DELETE"]),
)
@settings(max_examples=50)
async def test_no_id_makes_it_fail(app: FastAPI, fact_id: str, method: str) -> None:
    """Slashes, line breaks and whatever else: there is no such fact."""
    place = f"/memory/facts/{quote(fact_id, safe='', errors='surrogatepass')}"
    async with client_of(app) as client:
        answer = await client.request(method, place, json={} if method == "PATCH" else None)

    problem(answer, 404)


async def test_an_id_that_is_no_text_is_nobodys(app: FastAPI) -> None:
    """Some servers hand over what is no UTF-8 in a path as lone surrogates."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "DELETE",
        "path": "/memory/facts/\udcff",
        "query_string": b"",
        "headers": [(b"user", b"ada")],
    }
    await app(scope, receive, send)

    assert 404 == sent[0]["status"]


async def test_an_id_with_a_slash_is_one(app: FastAPI) -> None:
    """A path ends where the id ends."""
    assert "/memory/facts/a/b" == app.url_path_for("read_fact", fact_id="a/b")
    async with client_of(app) as client:
        answer = await client.get("/memory/facts/a/b%2Fc")

    assert "urn:honcho-memory:unknown-fact" == problem(answer, 404)["type"]
