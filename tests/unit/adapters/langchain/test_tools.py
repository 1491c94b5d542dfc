"""Memory that a model drives itself."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from scripted_model import ScriptedModel, calling

from honcho_memory import HonchoMemory, HonchoRejected, HonchoUnavailable
from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.adapters.langchain import memory_tools
from honcho_memory.ports.host import Memory

from .conftest import Agent, Context, config_of, user_of


def agent_that_calls(memory: Memory, name: str, **arguments: Any) -> Agent:
    """An agent whose model calls a tool once."""
    return Agent(
        memory,
        model=ScriptedModel(calling(name, arguments)),
        tools=memory_tools(memory, user_id=user_of),
        remember=False,
    )


def answer_of(thread: list[Any]) -> dict[str, Any]:
    """What the tool answered."""
    (answer,) = [message for message in thread if isinstance(message, ToolMessage)]
    parsed: dict[str, Any] = json.loads(str(answer.content))
    return parsed


def call(memory: Memory, name: str, *, user: str | None = "ada", **arguments: Any) -> Any:
    """Let an agent call a tool; returns what it answered."""
    return answer_of(agent_that_calls(memory, name, **arguments).ask("Go.", user=user))


def test_a_model_manages_facts(memory: HonchoMemory) -> None:
    """Search gives the ids that update and delete take."""
    added = call(memory, "memory_add", content="Cycles to work", category="habit", confidence=0.9)
    (hit,) = call(memory, "memory_search", query="work", category="habit")["results"]
    updated = call(memory, "memory_update", fact_id=hit["id"], content="Walks to work")
    (changed,) = call(memory, "memory_search", query="work", category="habit")["results"]
    deleted = call(memory, "memory_delete", fact_id=hit["id"])

    assert {"status": "added", "fact_id": hit["id"]} == added
    assert ("Cycles to work", "habit", 0.9) == (hit["content"], hit["category"], hit["confidence"])
    assert {"status": "updated", "fact_id": hit["id"]} == updated
    assert ("Walks to work", 0.9) == (changed["content"], changed["confidence"])
    assert {"status": "deleted", "fact_id": hit["id"]} == deleted
    assert ["Ada likes tea"] == [fact.content for fact in memory.facts("ada")]


async def test_tools_run_on_an_event_loop(memory: HonchoMemory) -> None:
    """Agents are run both ways."""
    agent = agent_that_calls(memory, "memory_search", query="tea")

    (hit,) = answer_of(await agent.aask("Go."))["results"]

    assert "Ada likes tea" == hit["content"]


def test_messages_are_found_too(memory: HonchoMemory) -> None:
    """What was said has no id: it cannot be changed."""
    memory.remember("t", [{"role": "user", "id": "1", "content": "I row."}], user_id="ada")
    assert memory.flush(5)

    (hit,) = call(memory, "memory_search", query="row", category="memory")["results"]

    assert ("I row.", "memory", False) == (hit["content"], hit["category"], "id" in hit)


def test_the_user_comes_from_the_run_alone(memory: HonchoMemory) -> None:
    """A model cannot say whose memory it wants, by any argument."""
    for tool in memory_tools(memory, user_id=user_of):
        schema: Any = tool.tool_call_schema
        assert not {"user_id", "runtime"} & set(schema.model_json_schema()["properties"])

    thread = agent_that_calls(memory, "memory_search", query="tea", user_id="ada").ask(
        "Go.", user="ben"
    )
    assert {"results": []} == answer_of(thread)


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("memory_add", {"content": " "}, "must not be empty"),
        ("memory_add", {"content": "ADA likes tea"}, "says the same"),
        ("memory_add", {"content": "x", "confidence": 7}, "confidence"),
        ("memory_update", {"fact_id": "none", "content": "x"}, "no fact 'none'"),
        ("memory_delete", {"fact_id": "none"}, "no fact 'none'"),
    ],
)
def test_what_cannot_be_done_is_an_answer(
    memory: HonchoMemory, name: str, arguments: dict[str, Any], error: str
) -> None:
    """The model reads why, and the agent runs on."""
    assert error in call(memory, name, **arguments)["error"]


@pytest.mark.parametrize("user", ["", None])
def test_nobody_has_no_facts(memory: HonchoMemory, user: str | None) -> None:
    """A run without a user finds nothing and changes nothing."""
    assert {"results": []} == call(memory, "memory_search", query="tea", user=user)
    assert "no user" in call(memory, "memory_add", content="x", user=user)["error"]


def test_a_view_that_cannot_write_says_so(memory: HonchoMemory) -> None:
    """The model of an agent that only reads is told."""
    assert "read only" in call(memory.read_only(), "memory_add", content="x")["error"]


@pytest.mark.parametrize(
    ("name", "arguments"), [("memory_search", {"query": "tea"}), ("memory_add", {"content": "x"})]
)
def test_an_outage_is_an_answer(
    memory: HonchoMemory, honcho: InMemoryHoncho, name: str, arguments: dict[str, Any]
) -> None:
    """Nothing found and could not look are not the same."""
    honcho.faults.fail(HonchoUnavailable("down", status=500), times=None)

    assert {"error": "memory cannot be used at the moment"} == call(memory, name, **arguments)


@pytest.mark.parametrize("name", ["memory_add", "memory_delete"])
def test_a_foreign_failure_is_an_answer_that_tells_nothing(
    memory: HonchoMemory, honcho: InMemoryHoncho, name: str
) -> None:
    """The agent runs on, and neither the model nor the user reads what they should not."""
    arguments = {"memory_add": {"content": "x"}, "memory_delete": {"fact_id": "x"}}[name]
    honcho.faults.fail(ValueError("sk-obviously-fake"), times=None)

    assert {"error": "memory cannot be used at the moment"} == call(memory, name, **arguments)


def test_who_cannot_be_asked_is_an_answer(memory: HonchoMemory) -> None:
    """The host's own callable may fail too."""

    def nobody(_context: Context) -> str:
        raise KeyError("uid")

    agent = Agent(
        memory,
        model=ScriptedModel(calling("memory_search", {"query": "tea"})),
        tools=memory_tools(memory, user_id=nobody),
        remember=False,
    )

    assert {"error": "memory cannot be used at the moment"} == answer_of(agent.ask("Go."))


def test_the_server_is_not_named_to_the_model(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """It reads what Honcho said, not where Honcho is."""
    refusal = HonchoRejected("create: Honcho at http://inside", status=422, said="too long")
    honcho.faults.fail(refusal, operation="create_conclusions")

    error = call(memory, "memory_add", content="x")["error"]

    assert "the content of a fact is refused by Honcho: too long" == error


def test_answers_are_bounded(memory: HonchoMemory) -> None:
    """They stay in the thread, and the model chooses how many it wants and what is in them."""
    for number in range(25):
        memory.add_fact(f"tea {number} " + "x" * 10_000, user_id="ada")

    results = call(memory, "memory_search", query="tea", limit=100)["results"]
    error = call(memory, "memory_delete", fact_id="z" * 100_000)["error"]

    assert 20 == len(results)
    assert all(len(each["content"]) <= 2_001 for each in results)
    assert len(error) <= 2_001


async def test_without_a_thread_to_be_had_tools_answer(
    memory: HonchoMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are called where the agent runs then."""
    agent = agent_that_calls(memory, "memory_add", content="x")
    start = threading.Thread.start

    def none_for_us(thread: threading.Thread) -> None:
        if thread.name.startswith("honcho-tools"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", none_for_us)

    state = await agent.graph.ainvoke(
        {"messages": [HumanMessage("Go.")]}, config_of("t"), context=Context("ada")
    )

    assert "added" == answer_of(state["messages"])["status"]
