"""What the tests of agents with memory share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from scripted_model import ScriptedModel

from honcho_memory import HonchoMemory, open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.adapters.langchain import HonchoMemoryMiddleware
from honcho_memory.ports.host import Memory


@dataclass
class Context:
    """What the host knows of a run."""

    user_id: str | None
    is_scheduled: bool = False


def user_of(context: Context) -> str | None:
    """Whose run it is."""
    return context.user_id


class Agent:
    """An agent with memory, driven as a host drives it."""

    def __init__(
        self,
        memory: Memory,
        *,
        model: ScriptedModel | None = None,
        checkpointer: Any = None,
        tools: Any = (),
        **options: Any,
    ) -> None:
        self.model = model or ScriptedModel()
        given: dict[str, Any] = {"user_id": user_of, **options}
        self.middleware = HonchoMemoryMiddleware[Context](memory, **given)
        self.graph: Any = create_agent(
            self.model,
            tools=list(tools),
            system_prompt="You are brief.",
            middleware=[self.middleware],
            checkpointer=checkpointer or InMemorySaver(),
            context_schema=Context,
        )

    def ask(self, text: str, *, thread: str = "t", user: str | None = "ada") -> list[AnyMessage]:
        """Run a turn; returns the thread after it."""
        return self.run({"messages": [HumanMessage(text)]}, thread=thread, user=user)

    def run(
        self, graph_input: Any, *, thread: str = "t", user: str | None = "ada"
    ) -> list[AnyMessage]:
        """Run the graph; returns the thread after it."""
        return list(
            self.graph.invoke(graph_input, config_of(thread), context=Context(user))["messages"]
        )

    async def aask(
        self, text: str, *, thread: str = "t", user: str | None = "ada"
    ) -> list[AnyMessage]:
        """Like `ask`, on the event loop."""
        state = await self.graph.ainvoke(
            {"messages": [HumanMessage(text)]}, config_of(thread), context=Context(user)
        )
        return list(state["messages"])


def config_of(thread: str) -> dict[str, Any]:
    """The configuration of a run in a thread."""
    return {"configurable": {"thread_id": thread}}


def snapshots(messages: list[AnyMessage], marker: str = "honcho_memory") -> list[AnyMessage]:
    """The snapshots of memory in a thread."""
    return [message for message in messages if marker in message.additional_kwargs]


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture
def honcho(clock: ManualClock) -> InMemoryHoncho:
    """A Honcho in memory."""
    return InMemoryHoncho(clock=clock)


@pytest.fixture
def memory(honcho: InMemoryHoncho, clock: ManualClock) -> Iterator[HonchoMemory]:
    """A memory on that Honcho, which knows one fact."""
    with open_memory(honcho=honcho, clock=clock) as memory:
        memory.add_fact("Ada likes tea", user_id="ada")
        yield memory
