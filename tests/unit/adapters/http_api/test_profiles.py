"""The profile over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from http_host import problem

NOTHING: dict[str, object] = {"form_of_address": None, "interests": [], "lines": []}


async def test_a_profile_is_replaced_as_a_whole(client: httpx.AsyncClient) -> None:
    """What is not said again is gone."""
    assert NOTHING == (await client.get("/memory/profile")).json()
    ada = {"form_of_address": "Ada", "interests": ["tea", "engines"], "lines": ["Works at night."]}

    assert ada == (await client.put("/memory/profile", json=ada)).json()
    assert ada == (await client.get("/memory/profile")).json()

    assert NOTHING == (await client.put("/memory/profile", json={})).json()
    assert NOTHING == (await client.get("/memory/profile")).json()


async def test_the_largest_profile_can_be_kept(client: httpx.AsyncClient) -> None:
    """All that the parts may have is not too much for the whole."""
    body = {"form_of_address": "Ada", "interests": 40 * ["tea"], "lines": 59 * [500 * "é"]}

    assert body == (await client.put("/memory/profile", json=body)).json()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"form_of_address": " "}, "#/form_of_address"),
        ({"form_of_address": 501 * "a"}, "#/form_of_address"),
        ({"interests": ["tea", "two\nlines"]}, "#/interests/1"),
        ({"interests": "tea"}, "#/interests"),
        ({"lines": 60 * ["a"]}, "#/lines"),
        ({"name": "Ada"}, "#/name"),
    ],
)
async def test_what_is_wrong_with_a_profile_is_named(
    client: httpx.AsyncClient, body: dict[str, Any], pointer: str
) -> None:
    """And nothing is changed."""
    wrong = problem(await client.put("/memory/profile", json=body), 422)

    assert [pointer] == [error["pointer"] for error in wrong["errors"]]
    assert NOTHING == (await client.get("/memory/profile")).json()


async def test_a_line_can_become_too_long_by_being_made_harmless(
    client: httpx.AsyncClient,
) -> None:
    """That is the domain's to find out."""
    body = {"lines": ["<|endoftext|>" * 38]}

    wrong = problem(await client.put("/memory/profile", json=body), 422)

    assert "urn:honcho-memory:invalid-profile" == wrong["type"]
    assert "lines[0] may have 500 characters" in wrong["detail"]
