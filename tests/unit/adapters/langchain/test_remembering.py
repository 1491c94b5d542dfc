"""What becomes of an agent's runs in memory."""

from __future__ import annotations

import asyncio
import logging

import pytest
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt
from scripted_model import ScriptedModel, calling

import honcho_memory
from honcho_memory import HonchoMemory, HonchoUnavailable
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.domain.identity import Identities

from .conftest import Agent, Context, snapshots


def stored(honcho: InMemoryHoncho, thread: str = "t", user: str = "ada") -> list[str]:
    """What Honcho holds of a thread."""
    identities = Identities()
    who = identities.user(user)
    assert who is not None
    messages = honcho.messages(who.workspace, identities.session(thread))
    return [message.content for message in messages]


@tool
def ask_the_user(question: str) -> str:
    """Stop until the user has answered."""
    return str(interrupt(question))


def test_a_thread_is_remembered_once(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """Each run hands over the whole thread; snapshots are no part of what was said."""
    agent, thread = Agent(memory), list[AnyMessage]()
    for turn in range(3):
        memory.add_fact(f"fact {turn}", user_id="ada")
        thread = agent.ask(f"question {turn}")
    assert memory.flush(5)

    assert 3 == len(snapshots(thread))
    assert [
        text for turn in range(3) for text in (f"question {turn}", f"answer to question {turn}")
    ] == stored(honcho)


def test_steps_on_the_way_are_left_out(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """A tool call, its text and its result are not the conversation."""

    @tool
    def look_up(what: str) -> str:
        """Look something up."""
        return f"found {what}"

    agent = Agent(memory, model=ScriptedModel(calling("look_up", {"what": "x"})), tools=[look_up])
    agent.ask("What is x?")
    assert memory.flush(5)

    assert ["What is x?", "found x"] == stored(honcho)


@pytest.mark.parametrize("user", ["", None])
def test_nothing_is_remembered_of_nobody(memory: HonchoMemory, user: str | None) -> None:
    """A run without a user leaves no trace."""
    Agent(memory).ask("Hello", user=user)

    assert memory.flush(5)
    assert 0 == memory.stats().accepted


def test_a_run_may_be_kept_out_of_memory(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """By a switch for the agent, for each run, or with a view that cannot write."""
    for agent in (
        Agent(memory, remember=False),
        Agent(memory, remember=lambda context: not context.is_scheduled),
        Agent(memory.read_only()),
    ):
        context = Context("ada", is_scheduled=True)
        agent.graph.invoke(
            {"messages": [HumanMessage("Write the report.")]},
            {"configurable": {"thread_id": "t"}},
            context=context,
        )
    assert memory.flush(5)
    assert 0 == memory.stats().accepted

    Agent(memory, remember=lambda context: not context.is_scheduled).ask("Hello")
    assert memory.flush(5)
    assert ["Hello", "answer to Hello"] == stored(honcho)


def test_a_scheduled_prompt_is_not_what_the_user_said(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """A host that marks it has its answer remembered alone."""
    prompt = HumanMessage("Greet the user.", additional_kwargs={"scheduled_prompt": True})

    Agent(memory).run({"messages": [prompt]})

    assert memory.flush(5)
    assert ["answer to Greet the user."] == stored(honcho)


def test_a_run_without_a_thread_cannot_be_remembered(
    memory: HonchoMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """What the next run says could not be told apart from it; the log says why."""
    agent = Agent(memory)
    graph = create_agent(
        agent.model, tools=[], middleware=[agent.middleware], context_schema=Context
    )

    with caplog.at_level(logging.WARNING, logger="honcho_memory"):
        graph.invoke({"messages": [HumanMessage("Hello")]}, context=Context("ada"))

    assert ["a run is not remembered: its config has no configurable.thread_id"] == caplog.messages
    assert 0 == memory.stats().accepted


def test_a_run_that_stops_to_ask_is_remembered_when_it_ends(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """It has one snapshot, and each message once, however often it stops."""
    script = calling("ask_the_user", {"question": "Which city?"})
    agent = Agent(memory, model=ScriptedModel(script), tools=[ask_the_user])
    agent.ask("Book a flight.")
    memory.add_fact("Ada is in a hurry", user_id="ada")

    thread = agent.run(Command(resume="Lisbon"))

    assert memory.flush(5)
    assert 1 == len(snapshots(thread))
    assert ["Book a flight.", "Lisbon"] == stored(honcho)


def test_an_outage_is_not_felt(
    memory: HonchoMemory, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """The run ends as it would, and what was said waits."""
    agent = Agent(memory)
    down = honcho.faults.fail(HonchoUnavailable("down", status=503), times=None)

    agent.ask("Hello")

    tally = memory.stats().tally
    down.stop()
    clock.advance(60)
    assert tally is not None
    assert 2 == tally.waiting


async def test_many_users_and_threads_at_once(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """Each is remembered in its own place, and the event loop is never blocked."""
    agent = Agent(memory)
    runs = [(f"user-{number % 3}", f"thread-{number}") for number in range(12)]

    with blockbuster_ctx(honcho_memory):
        for turn in range(2):
            await asyncio.gather(
                *(
                    agent.aask(f"question {turn} of {user}", thread=thread, user=user)
                    for user, thread in runs
                )
            )
    assert await asyncio.to_thread(memory.flush, 10)

    for user, thread in runs:
        expected = [
            text
            for turn in range(2)
            for text in (f"question {turn} of {user}", f"answer to question {turn} of {user}")
        ]
        assert expected == stored(honcho, thread, user)
