"""The router in a host's application."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import httpx
import pytest
from fastapi import Depends, FastAPI
from http_host import app_with, client_of, current_user, problem

from honcho_memory import ConfigurationError, HonchoMemory, HonchoUnavailable
from honcho_memory.adapters.http_api import memory_router
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock

DOWN = HonchoUnavailable("Honcho is down", status=503)
REQUESTS: dict[str, tuple[str, str, Any]] = {
    "read": ("GET", "", None),
    "export": ("GET", "/export", None),
    "list facts": ("GET", "/facts", None),
    "read a fact": ("GET", "/facts/id", None),
    "read the profile": ("GET", "/profile", None),
    "search": ("GET", "/search?q=tea", None),
    "clear": ("DELETE", "", None),
    "import": ("POST", "/import", {"facts": []}),
    "add a fact": ("POST", "/facts", {"content": "Likes mate."}),
    "change a fact": ("PATCH", "/facts/id", {}),
    "delete a fact": ("DELETE", "/facts/id", None),
    "replace the profile": ("PUT", "/profile", {}),
}
CHANGES = {name: request for name, request in REQUESTS.items() if request[0] != "GET"}


def test_every_route_is_tried_here() -> None:
    """The table above is that of the routes."""
    app = app_with(memory_router(None, user_id=current_user))  # type: ignore[arg-type]
    paths: dict[str, dict[str, Any]] = app.openapi()["paths"]
    routes = {(method.upper(), path) for path, methods in paths.items() for method in methods}

    tried = {
        (method, "/memory" + path.partition("?")[0].replace("/id", "/{fact_id}"))
        for method, path, _ in REQUESTS.values()
    }
    assert routes == tried | {("GET", "/memory/health")}


@pytest.mark.parametrize("user_id", [None, "ada", Depends(current_user)])
def test_it_refuses_to_serve_whoever_comes(memory: HonchoMemory, user_id: Any) -> None:
    """Without a dependency that says who asks there is no router."""
    with pytest.raises(ConfigurationError, match="user_id="):
        memory_router(memory, user_id=user_id)
    with pytest.raises(ConfigurationError, match="user_id="):
        memory_router(memory)


@pytest.mark.parametrize("prefix", ["", "/", "memory", "/memory/"])
def test_it_has_a_place_of_its_own(memory: HonchoMemory, prefix: str) -> None:
    """FastAPI would say so later, and less clearly."""
    with pytest.raises(ConfigurationError, match="prefix"):
        memory_router(memory, user_id=current_user, prefix=prefix)


@pytest.mark.parametrize("who", ["", "guest"])
@pytest.mark.parametrize(("method", "path", "body"), REQUESTS.values(), ids=REQUESTS)
async def test_nobody_has_no_memory(
    client: httpx.AsyncClient, method: str, path: str, body: Any, who: str
) -> None:
    """Neither to read nor to write; a user id that stands for nobody is nobody's."""
    answer = await client.request(method, f"/memory{path}", json=body, headers={"user": who})

    assert "urn:honcho-memory:no-user" == problem(answer, 401)["type"]


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS.values(), ids=REQUESTS)
async def test_an_outage_is_an_answer(
    client: httpx.AsyncClient, honcho: InMemoryHoncho, method: str, path: str, body: Any
) -> None:
    """And what was answered is kept by nobody on the way."""
    honcho.faults.fail(DOWN, times=None)

    answer = await client.request(method, f"/memory{path}", json=body)

    honcho.faults.clear()
    assert "no-store" == answer.headers["cache-control"]
    if answer.status_code != 200:  # a read under the read policy
        assert "retry-after" in answer.headers
        problem(answer, 503)


async def test_a_view_that_is_read_only_is_served_too(
    memory: HonchoMemory, clock: ManualClock
) -> None:
    """It is read as any other, and what would change it is forbidden."""
    memory.add_fact("Likes tea.", user_id="ada")
    router = memory_router(memory.read_only(), user_id=current_user, clock=clock)

    async with client_of(app_with(router)) as client:
        (fact,) = (await client.get("/memory/facts")).json()["facts"]
        assert "Likes tea." == fact["content"]
        for path in ("", "/export", "/profile", "/search?q=tea", "/health"):
            assert 200 == (await client.get(f"/memory{path}")).status_code
        for method, path, body in CHANGES.values():
            answer = await client.request(method, f"/memory{path}", json=body)
            assert "urn:honcho-memory:read-only" == problem(answer, 403)["type"]


async def test_the_host_may_have_to_wait_for_who_it_is(memory: HonchoMemory) -> None:
    """An asynchronous dependency is one like any other."""
    memory.add_fact("Likes tea.", user_id="ada")

    async def user_id() -> str:
        return "ada"

    async with client_of(app_with(memory_router(memory, user_id=user_id))) as client:
        assert 1 == len((await client.get("/memory/facts")).json()["facts"])


async def test_it_can_be_put_anywhere(memory: HonchoMemory) -> None:
    """Under the host's prefix, and in an application that is mounted in another."""
    inner, outer = FastAPI(), FastAPI()
    inner.include_router(
        memory_router(memory, user_id=current_user, prefix="/my/memory"), prefix="/api"
    )
    outer.mount("/v1", inner)

    async with client_of(outer) as client:
        added = await client.post("/v1/api/my/memory/facts", json={"content": "Likes tea."})
        place = added.url.join(added.headers["location"])

        assert added.json() == (await client.get(place)).json()


async def test_two_memories_can_be_in_one_application(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """The names of their operations differ."""
    app = app_with(
        memory_router(memory, user_id=current_user),
        memory_router(memory.read_only(), user_id=current_user, prefix="/read-only/memory"),
    )

    names = {
        operation["operationId"]
        for path in app.openapi()["paths"].values()
        for operation in path.values()
    }

    assert {"memory_add_fact", "read_only_memory_add_fact"} < names
    assert 2 * (len(REQUESTS) + 1) == len(names)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "", "DELETE, GET"),
        ("OPTIONS", "/facts", "GET, POST"),
        ("POST", "/facts/a%0Ab", "DELETE, GET, PATCH"),
        ("DELETE", "/health", "GET"),
    ],
)
async def test_another_method_is_told_which_there_are(
    client: httpx.AsyncClient, method: str, path: str, allowed: str
) -> None:
    """All of them, and not only those of the first route."""
    answer = await client.request(method, f"/memory{path}")

    problem(answer, 405)
    assert allowed == answer.headers["allow"]


async def test_anybody_may_ask_after_its_health(
    client: httpx.AsyncClient, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """It is well again by itself, also where nothing but its health is asked after."""
    del client.headers["user"]
    assert {"status": "ok"} == (await client.get("/memory/health")).json()

    honcho.faults.fail(DOWN, times=None)
    await client.get("/memory/facts", headers={"user": "ada"})
    sick = await client.get("/memory/health")
    assert "retry-after" in sick.headers
    problem(sick, 503)

    honcho.faults.clear()
    clock.advance(60)
    assert 200 == (await client.get("/memory/health")).status_code


def test_fastapi_is_needed_for_it_alone() -> None:
    """Who serves no memory over HTTP need not have it."""
    program = (
        "import sys; sys.modules['fastapi'] = None; import honcho_memory, honcho_memory.cli\n"
        "try: import honcho_memory.adapters.http_api\n"
        "except ImportError: pass\n"
        "else: sys.exit('it was imported without FastAPI')"
    )

    assert 0 == subprocess.run([sys.executable, "-c", program], check=False).returncode
