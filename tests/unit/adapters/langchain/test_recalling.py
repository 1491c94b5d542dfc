"""Memory in an agent's thread: where it is put, and what stays as it was."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from honcho_memory import (
    ConfigurationError,
    HonchoMemory,
    HonchoUnavailable,
    Recall,
    open_memory,
)
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.adapters.langchain import HonchoMemoryMiddleware
from honcho_memory.adapters.langchain.snapshots import NOTHING_KNOWN, SUPERSEDED

from .conftest import Agent, Context, config_of, snapshots

TEA = "Ada likes tea"
CELLO = "Ada plays the cello"


@pytest.fixture(params=["memory", "sqlite"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """LangGraph's own checkpointers."""
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            yield saver


@asynccontextmanager
async def async_checkpointer(kind: str, folder: Path) -> AsyncGenerator[Any]:
    """The same for an event loop."""
    if kind == "memory":
        yield InMemorySaver()
    else:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
            yield saver


def check_prefixes(prompts: list[list[str]]) -> None:
    """Every prompt begins with the whole one before it, byte for byte."""
    for earlier, later in itertools.pairwise(prompts):
        assert earlier == later[: len(earlier)]


def test_earlier_prompts_stay_as_they_were(memory: HonchoMemory, checkpointer: Any) -> None:
    """Over ten turns with one change of memory there is one snapshot a revision."""
    agent, thread = Agent(memory, checkpointer=checkpointer), list[AnyMessage]()

    for turn in range(10):
        if turn == 5:
            memory.add_fact(CELLO, user_id="ada")
        thread = agent.ask(f"question {turn}")

    check_prefixes(agent.model.prompt_texts())
    first, second = snapshots(thread)
    assert (True, False) == (TEA in first.text, CELLO in first.text)
    assert (TEA in second.text, CELLO in second.text) == (True, True)
    assert ["question 0", "question 5"] == [
        thread[thread.index(each) + 1].text for each in (first, second)
    ]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_it_is_the_same_on_an_event_loop(
    memory: HonchoMemory, kind: str, tmp_path: Path
) -> None:
    """Agents are run both ways."""
    async with async_checkpointer(kind, tmp_path) as checkpointer:
        agent = Agent(memory, checkpointer=checkpointer)
        await agent.aask("question 0")
        memory.add_fact(CELLO, user_id="ada")
        thread = await agent.aask("question 1")
        thread = await agent.aask("question 2")

    check_prefixes(agent.model.prompt_texts())
    assert 2 == len(snapshots(thread))


def test_memory_is_a_hidden_message_and_no_system_prompt(memory: HonchoMemory) -> None:
    """The interface can leave it out, and the provider keeps what comes before it."""
    agent = Agent(memory, marker="harness_user_memory")

    thread = agent.ask("Hello")

    (snapshot,) = snapshots(thread, "harness_user_memory")
    assert isinstance(snapshot, HumanMessage)
    assert snapshot.additional_kwargs["hide_from_ui"]
    assert snapshot.text.startswith("<memory>\n")
    assert snapshot.text.endswith("\n</memory>")
    (prompt,) = agent.model.prompt_texts()
    assert "system: You are brief." == prompt[0]
    assert [TEA in line for line in prompt] == [False, True, False]


def test_while_nothing_has_changed_nothing_is_fetched(
    memory: HonchoMemory, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """Within the fresh time a turn asks Honcho nothing; after it the same text adds nothing."""
    agent = Agent(memory, remember=False)
    agent.ask("question 0")
    asked = len(honcho.requests)

    agent.ask("question 1")
    assert asked == len(honcho.requests)
    clock.advance(31)
    thread = agent.ask("question 2")

    assert asked < len(honcho.requests)
    assert 1 == len(snapshots(thread))


def test_only_the_newest_keep_their_text(memory: HonchoMemory) -> None:
    """Where a thread may hold but so much, older snapshots are emptied and keep their place."""
    agent, thread = Agent(memory, keep=1), list[AnyMessage]()
    for turn in range(3):
        memory.add_fact(f"fact {turn}", user_id="ada")
        thread = agent.ask(f"question {turn}")

    texts = [each.text for each in snapshots(thread)]

    assert [True, True, False] == [SUPERSEDED in text for text in texts]
    assert [False, False, True] == [TEA in text for text in texts]
    places = [thread.index(each) for each in snapshots(thread)]
    assert [f"question {turn}" for turn in range(3)] == [thread[at + 1].text for at in places]


def test_a_cleared_memory_is_said_to_be_gone(memory: HonchoMemory) -> None:
    """What stands further up in the thread would be believed otherwise."""
    agent = Agent(memory)
    agent.ask("question 0")
    memory.clear("ada")

    thread = agent.ask("question 1")

    assert [True, False] == [TEA in each.text for each in snapshots(thread)]
    assert NOTHING_KNOWN in snapshots(thread)[-1].text


@pytest.mark.parametrize("user", ["stranger", "", None])
def test_nothing_known_is_nothing_said(memory: HonchoMemory, user: str | None) -> None:
    """A stranger and nobody get a thread as it would be without memory."""
    agent = Agent(memory)

    thread = agent.ask("Hello", user=user)

    assert ["Hello", "answer to Hello"] == [message.text for message in thread]


def test_a_run_without_a_context_has_no_memory(memory: HonchoMemory) -> None:
    """The callable is not asked about nothing."""
    agent = Agent(memory)

    state = agent.graph.invoke({"messages": [HumanMessage("Hello")]}, config_of("t"))

    assert [] == snapshots(state["messages"])
    assert memory.flush(5)
    assert 0 == memory.stats().accepted


def test_a_user_may_be_fixed(memory: HonchoMemory) -> None:
    """An assistant of one person needs no context."""
    agent = Agent(memory, user_id="ada")

    assert 1 == len(snapshots(agent.ask("Hello", user=None)))


def test_the_agent_runs_on_without_memory(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """An outage costs a turn its memory, not its answer, and the next turn has it."""
    agent = Agent(memory, remember=False)
    down = honcho.faults.fail(HonchoUnavailable("down", status=500), times=None)
    without = agent.ask("question 0")
    down.stop()

    thread = agent.ask("question 1")

    assert "answer to question 0" == without[-1].text
    assert [] == snapshots(without)
    (snapshot,) = snapshots(thread)
    assert "question 1" == thread[thread.index(snapshot) + 1].text
    check_prefixes(agent.model.prompt_texts())


def test_an_outage_does_not_count_as_a_cleared_memory(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """What could not be asked is not what is not known."""
    with open_memory({"recall": {"stale_if_error_seconds": 0}}, honcho=honcho) as other:
        agent = Agent(other, remember=False)
        agent.ask("question 0")
        other.set_profile(other.profile("ada"), user_id="ada")  # drops what is kept
        honcho.faults.fail(HonchoUnavailable("down", status=500), times=None)

        thread = agent.ask("question 1")

    assert 1 == len(snapshots(thread))


def test_the_run_stops_when_memory_is_required(honcho: InMemoryHoncho) -> None:
    """Under `fail_closed` the error comes out of the run."""
    honcho.faults.fail(HonchoUnavailable("down", status=500), times=None)
    with open_memory({"failure_policy": {"read": "fail_closed"}}, honcho=honcho) as memory:
        agent = Agent(memory)

        with pytest.raises(HonchoUnavailable):
            agent.ask("Hello")
        assert [] == agent.model.prompts


def test_a_recall_may_look_for_what_is_near(memory: HonchoMemory) -> None:
    """The user's message goes with it, by choice."""
    asked: list[str | None] = []
    recall = memory.recall

    def listening(user_id: str | None, *, query: str | None = None) -> Recall:
        asked.append(query)
        return recall(user_id, query=query)

    memory.recall = listening  # type: ignore[method-assign]

    Agent(memory, use_query=True).ask("Which tea?")
    Agent(memory).ask("Which tea?", thread="other")

    assert ["Which tea?", None] == asked


def test_a_snapshot_that_was_summarized_away_comes_again(memory: HonchoMemory) -> None:
    """A thread whose beginning is gone has its memory at the next question."""
    agent = Agent(memory)
    thread = agent.ask("question 0")
    agent.graph.update_state(
        config_of("t"), {"messages": [RemoveMessage(id=str(each.id)) for each in thread[:3]]}
    )

    thread = agent.ask("question 1")

    assert ["human", "human", "ai"] == [message.type for message in thread]
    assert TEA in thread[0].text


def test_what_was_answered_is_left_alone(memory: HonchoMemory) -> None:
    """A run without a new question puts nothing before an old one."""
    agent = Agent(memory)
    agent.ask("question 0")
    memory.add_fact(CELLO, user_id="ada")

    thread = agent.run({"messages": []})

    assert 1 == len(snapshots(thread))
    check_prefixes(agent.model.prompt_texts())


def test_a_hidden_note_of_the_host_is_not_the_question(memory: HonchoMemory) -> None:
    """Memory goes before what the user said; without that, before the first note."""
    agent = Agent(memory)
    note = HumanMessage("Be kind.", additional_kwargs={"hide_from_ui": True})

    thread = agent.run({"messages": [HumanMessage("Hello"), note]})
    notes = [HumanMessage(text, additional_kwargs={"hide_from_ui": True}) for text in "ab"]
    alone = agent.run({"messages": notes}, thread="other")

    assert ["Hello", "Be kind."] == [message.text for message in thread[1:3]]
    assert [0] == [alone.index(each) for each in snapshots(alone)]
    assert ["a", "b"] == [message.text for message in alone[1:3]]


@pytest.mark.parametrize("mode", ["values", "updates", "messages"])
async def test_runs_are_streamed(memory: HonchoMemory, mode: str) -> None:
    """Every way of streaming goes through, and the thread is the same."""
    agent = Agent(memory)
    question = {"messages": [HumanMessage("Hello")]}

    parts = [
        part
        async for part in agent.graph.astream(
            question, config_of("t"), context=Context("ada"), stream_mode=mode
        )
    ]

    assert parts
    thread = agent.graph.get_state(config_of("t")).values["messages"]
    assert ["human", "human", "ai"] == [message.type for message in thread]


@pytest.mark.parametrize(
    "options", [{"keep": 0}, {"keep": -1}, {"marker": ""}, {"marker": "hide_from_ui"}]
)
def test_what_cannot_be_is_refused(memory: HonchoMemory, options: dict[str, Any]) -> None:
    """When the agent is built, not in its first run."""
    with pytest.raises(ConfigurationError):
        HonchoMemoryMiddleware[Context](memory, user_id="ada", **options)
