"""The examples run, and the pages about hosts say what is so."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import httpx
import pytest
from fastapi import FastAPI
from http_host import app_with, current_user

from honcho_memory.adapters.http_api import memory_router

ROOT = Path(__file__).parents[2]
HTTP_APP = ROOT / "examples" / "http_app.py"
HTTP_PAGE = ROOT / "docs" / "hosts" / "http.md"

pytestmark = pytest.mark.skipif(
    not HTTP_APP.exists(), reason="only the source tree has examples and pages"
)


def loaded(path: Path) -> ModuleType:
    """An example, as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_the_http_app_serves_a_memory() -> None:
    """From its start to its end: a fact is added, found, and nobody else's."""
    app: FastAPI = loaded(HTTP_APP).app
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://host/api") as client,
    ):
        ada, eve = {"X-User": "ada"}, {"X-User": "eve"}
        added = await client.post("/memory/facts", json={"content": "Likes tea."}, headers=ada)
        document = await client.get("/memory", headers=ada)

        assert 201 == added.status_code
        assert [added.json()] == document.json()["facts"]
        assert [] == (await client.get("/memory", headers=eve)).json()["facts"]
        assert 401 == (await client.get("/memory")).status_code
        assert 200 == (await client.get("/memory/health")).status_code


def test_the_page_about_http_has_every_route() -> None:
    """The table of routes is that of the OpenAPI document."""
    rows = re.findall(r"^\| `([A-Z]+) (\S+)` \| (\d+)", HTTP_PAGE.read_text(), re.MULTILINE)
    app = app_with(memory_router(None, user_id=current_user))  # type: ignore[arg-type]

    routes = {
        (method.upper(), path, next(iter(operation["responses"])))
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
    }
    assert routes == set(rows)


def test_the_setup_on_the_page_about_http_works() -> None:
    """In fifteen lines, and without a server as long as nobody asks."""
    (example,) = re.findall(r"```python\n(.*?)```", HTTP_PAGE.read_text(), re.DOTALL)
    assert len(example.strip().splitlines()) <= 15
    names: dict[str, object] = {"SESSIONS": {}}

    exec(example, names)

    app = names["app"]
    assert isinstance(app, FastAPI)
    assert "/api/memory" in app.openapi()["paths"]
