"""In a thread of several users, and of runs that are not to be remembered, each keeps their own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]
    MessagesState,
    StateGraph,
)
from scripted_model import ScriptedModel

from honcho_memory import ConfigurationError, HonchoMemory
from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.adapters.langchain import HonchoMemoryMiddleware

from .conftest import Agent, Context, config_of, snapshots
from .test_remembering import stored

TEA = "Ada likes tea"


@tool
def look_up(what: str) -> str:
    """Look something up."""
    return f"about {what}"


def turn(text: str) -> list[str]:
    """What is stored of one."""
    return [text, f"answer to {text}"]


def said_by(memory: HonchoMemory, honcho: InMemoryHoncho, user: str) -> list[str]:
    """What Honcho holds of a thread, when everything has been delivered."""
    assert memory.flush(5)
    return stored(honcho, user=user)


def test_a_run_that_was_not_remembered_stays_so(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """Also when the thread goes on with runs that are."""
    agent = Agent(memory, remember=lambda context: not context.is_scheduled)

    def run(text: str, *, is_scheduled: bool) -> None:
        agent.graph.invoke(
            {"messages": [HumanMessage(text)]},
            config_of("t"),
            context=Context("ada", is_scheduled=is_scheduled),
        )

    run("secret first", is_scheduled=True)
    run("hello", is_scheduled=False)
    run("secret", is_scheduled=True)
    run("bye", is_scheduled=False)

    assert [*turn("hello"), *turn("bye")] == said_by(memory, honcho, "ada")


def test_what_nobody_said_is_not_the_next_users(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """A thread may begin before its user has signed in."""
    agent = Agent(memory)
    agent.ask("I am anonymous", user=None)
    agent.ask("I am Ada")

    assert turn("I am Ada") == said_by(memory, honcho, "ada")


def test_users_of_one_thread_keep_their_own(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """Each one's memory gets their own turns, and no prompt has another's memory."""
    agent = Agent(memory)
    agent.ask("I am Ada")
    assert TEA in agent.model.prompt_texts()[-1][1]
    agent.ask("I am Ben", user="ben")
    agent.ask("Who am I?", user=None)
    agent.ask("Me again")

    assert [*turn("I am Ada"), *turn("Me again")] == said_by(memory, honcho, "ada")
    assert turn("I am Ben") == said_by(memory, honcho, "ben")
    of_ben, of_nobody, of_ada = agent.model.prompt_texts()[1:]
    assert not any(TEA in text for text in (*of_ben, *of_nobody))
    assert any(TEA in text for text in of_ada)


def test_a_run_that_broke_off_is_taken_with_the_next(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """What the user said to a model that failed was said all the same."""
    failures = iter([RuntimeError("out of order")])

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        for failure in failures:
            raise failure
        return AIMessage(f"answer to {messages[-1].text}")

    agent = Agent(memory, model=ScriptedModel(script))
    with pytest.raises(RuntimeError, match="out of order"):
        agent.ask("first")
    agent.ask("second")

    assert ["first", *turn("second")] == said_by(memory, honcho, "ada")


def test_an_agent_in_a_graph_keeps_its_prefix(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """The parent has the thread; the snapshot is before the question there too."""
    model = ScriptedModel()
    inner = create_agent(model, middleware=[HonchoMemoryMiddleware(memory, user_id="ada")])
    parent: Any = StateGraph(MessagesState)
    parent.add_node("agent", inner)
    parent.set_entry_point("agent")
    graph = parent.compile(checkpointer=InMemorySaver())

    for number in range(3):
        graph.invoke({"messages": [HumanMessage(f"q{number}")]}, config_of("t"))

    prompts = model.prompt_texts()
    first = prompts[0]
    assert TEA in first[0]
    assert "human: q0" == first[1]
    for earlier, later in itertools.pairwise(prompts):
        assert earlier == later[: len(earlier)]
    assert [*turn("q0"), *turn("q1"), *turn("q2")] == said_by(memory, honcho, "ada")


def test_a_summary_is_not_what_the_user_said(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """The user's own words are, also those that a summary took the place of in their run."""
    answers = itertools.chain(
        [
            AIMessage("", tool_calls=[{"name": "look_up", "args": {"what": each}, "id": each}])
            for each in "abc"
        ],
        itertools.repeat(AIMessage("Done.")),
    )
    model = ScriptedModel(lambda _: next(answers).model_copy())
    summing = SummarizationMiddleware(
        ScriptedModel(), trigger=("messages", 4), keep=("messages", 2)
    )
    graph: Any = create_agent(
        model,
        tools=[look_up],
        middleware=[summing, HonchoMemoryMiddleware(memory, user_id="ada")],
        checkpointer=InMemorySaver(),
    )

    thread: list[AnyMessage] = graph.invoke(
        {"messages": [HumanMessage("I moved to Lisbon.")]}, config_of("t")
    )["messages"]
    assert any(each.additional_kwargs.get("lc_source") == "summarization" for each in thread)
    assert not any("I moved to Lisbon." == each.text for each in thread)
    graph.invoke({"messages": [HumanMessage("And now?")]}, config_of("t"))

    assert ["I moved to Lisbon.", "Done.", "And now?", "Done."] == said_by(memory, honcho, "ada")


@pytest.mark.parametrize("as_dicts", [True, False])
def test_without_a_checkpointer_each_turn_is_stored_once(
    memory: HonchoMemory, honcho: InMemoryHoncho, *, as_dicts: bool
) -> None:
    """A host that keeps the thread hands all of it to each run, and LangGraph gives new ids."""
    graph: Any = create_agent(
        ScriptedModel(), middleware=[HonchoMemoryMiddleware(memory, user_id="ada")]
    )
    history: list[Any] = []
    for number in range(3):
        text = f"q{number}"
        history.append({"role": "user", "content": text} if as_dicts else HumanMessage(text))
        answer = graph.invoke({"messages": list(history)}, config_of("t"))["messages"][-1].text
        history.append({"role": "assistant", "content": answer})
        assert memory.flush(5)

    assert [*turn("q0"), *turn("q1"), *turn("q2")] == said_by(memory, honcho, "ada")


def test_an_agent_may_have_two_memories(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """One of the user and one of the team, each with a marker of its own."""
    memory.add_fact("The team ships on Fridays", user_id="team")
    own = HonchoMemoryMiddleware[Any](memory, user_id="ada")
    team = HonchoMemoryMiddleware[Any](memory, user_id="team", marker="team", remember=False)
    model = ScriptedModel()
    graph: Any = create_agent(model, middleware=[own, team], checkpointer=InMemorySaver())

    for number in range(2):
        graph.invoke({"messages": [HumanMessage(f"q{number}")]}, config_of("t"))

    first, second = model.prompt_texts()
    assert first == second[: len(first)]
    assert any("Fridays" in text for text in first)
    assert any(TEA in text for text in first)
    assert [*turn("q0"), *turn("q1")] == said_by(memory, honcho, "ada")
    assert [] == stored(honcho, user="team")


def test_a_coroutine_is_no_yes(memory: HonchoMemory) -> None:
    """A switch that nobody waits for must not let everything through."""

    async def never(_context: Context) -> bool:
        raise AssertionError

    async def nobody(_context: Context) -> None:
        raise AssertionError

    with pytest.raises(ConfigurationError, match="remember must not be a coroutine"):
        HonchoMemoryMiddleware[Context](memory, user_id="ada", remember=never)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="user_id must not be a coroutine"):
        HonchoMemoryMiddleware[Context](memory, user_id=nobody)  # type: ignore[arg-type]

    Agent(memory, remember=lambda _: "yes").ask("Hello")
    assert 0 == memory.stats().accepted


async def test_without_a_thread_to_be_had_the_agent_runs_on(
    memory: HonchoMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does without an event loop."""
    agent = Agent(memory)

    start = threading.Thread.start

    def none_for_us(thread: threading.Thread) -> None:
        if thread.name.startswith("honcho-"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", none_for_us)
    await agent.graph.ainvoke(
        {"messages": [HumanMessage("Hello")]}, config_of("t"), context=Context("ada")
    )
    monkeypatch.undo()

    thread = agent.graph.get_state(config_of("t")).values["messages"]
    assert [] == snapshots(thread)
    assert "answer to Hello" == thread[-1].text
