"""Search over HTTP."""

from __future__ import annotations

import httpx
import pytest
from http_host import problem

from honcho_memory import HonchoMemory, HonchoUnavailable
from honcho_memory.adapters.in_memory import InMemoryHoncho


@pytest.fixture
def memory(memory: HonchoMemory) -> HonchoMemory:
    """A memory of a fact and a message about tea."""
    memory.add_fact("Likes tea.", user_id="ada", category="preference", confidence=0.9)
    memory.remember("t", [{"role": "user", "id": "1", "content": "More tea?"}], user_id="ada")
    memory.flush(30)
    return memory


async def test_facts_and_messages_are_found(client: httpx.AsyncClient) -> None:
    """Each says which it is."""
    hits = (await client.get("/memory/search?q=tea")).json()["hits"]

    assert {"fact", "message"} == {hit["kind"] for hit in hits}
    (message,) = (hit for hit in hits if hit["kind"] == "message")
    assert ("More tea?", "memory") == (message["content"], message["category"])
    assert {"id", "session", "peer", "createdAt"} < message.keys()
    (fact,) = (hit for hit in hits if hit.get("category") == "preference")
    assert ("Likes tea.", 0.9) == (fact["content"], fact["confidence"])


async def test_a_search_can_be_narrowed(client: httpx.AsyncClient) -> None:
    """To so many, and to a category."""
    one = (await client.get("/memory/search?q=tea&top_k=1")).json()["hits"]
    preferences = (await client.get("/memory/search?q=tea&category=preference")).json()["hits"]
    any_category = (await client.get("/memory/search?q=tea&category=")).json()["hits"]

    assert 1 == len(one)
    assert ["Likes tea."] == [hit["content"] for hit in preferences]
    assert 1 < len(any_category)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("", "q"),
        ("q=+", "q"),
        ("q=tea&top_k=0", "top_k"),
        ("q=tea&top_k=101", "top_k"),
        ("q=tea&category=" + 101 * "a", "category"),
    ],
)
async def test_what_is_wrong_with_a_search_is_named(
    client: httpx.AsyncClient, query: str, parameter: str
) -> None:
    """An error has the parameter's name."""
    wrong = problem(await client.get(f"/memory/search?{query}"), 422)

    assert [parameter] == [error["parameter"] for error in wrong["errors"]]


async def test_nothing_found_for_want_of_an_answer_says_so(
    client: httpx.AsyncClient, honcho: InMemoryHoncho
) -> None:
    """The read policy lets it through."""
    honcho.faults.fail(HonchoUnavailable("Honcho is down", status=503), times=None)

    found = await client.get("/memory/search?q=tea")

    honcho.faults.clear()
    assert (200, "true") == (found.status_code, found.headers["memory-unavailable"])
    assert {"hits": []} == found.json()
