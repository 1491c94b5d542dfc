"""The examples run, and the pages about hosts say what is so."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from http_host import app_with, current_user
from scripted_model import ScriptedModel

from honcho_memory import open_memory
from honcho_memory.adapters.http_api import memory_router
from honcho_memory.adapters.in_memory import InMemoryHoncho

ROOT = Path(__file__).parents[2]
HTTP_APP = ROOT / "examples" / "http_app.py"
HTTP_PAGE = ROOT / "docs" / "start" / "http.md"
LANGCHAIN_PAGE = ROOT / "docs" / "start" / "langchain.md"

pytestmark = pytest.mark.skipif(
    not HTTP_APP.exists(), reason="only the source tree has examples and pages"
)


def loaded(path: Path) -> ModuleType:
    """An example, as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def test_the_langchain_agent_knows_its_user(capsys: pytest.CaptureFixture[str]) -> None:
    """In the second thread the model is given what was said in the first."""
    loaded(ROOT / "examples" / "langchain_agent.py").main()

    memory, question, answer = capsys.readouterr().out.strip().split("\n\n")
    assert memory.startswith("human: <memory>")
    assert "I moved to Lisbon" in memory
    assert question.startswith("human: Where could I go")
    assert answer.startswith("ai: A vegetarian place")


def test_the_setup_on_the_page_about_langchain_works() -> None:
    """Without a server as long as nobody asks."""
    (example,) = re.findall(r"```python\n(.*?)```", LANGCHAIN_PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": __name__, "MODEL": ScriptedModel(), "CHECKPOINTER": None}

    exec(example, names)

    names["memory"].close()
    assert "HonchoMemoryMiddleware.before_agent" in names["agent"].get_graph().nodes


def test_a_host_of_ones_own_knows_its_user() -> None:
    """In the second conversation the model is given what was said in the first."""
    own_host = loaded(ROOT / "examples" / "own_host.py")
    with open_memory(honcho=InMemoryHoncho()) as memory:
        for said in ("I moved to Lisbon.", "Where do I live?"):
            heard = iter([said, ""])
            answers = own_host.chat(memory, str, "ada", lambda heard=heard: next(heard))
            assert memory.flush(60)
            memory.set_profile(memory.profile("ada"), user_id="ada")  # drops the fresh answer

    assert "I moved to Lisbon." in answers[0]


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
