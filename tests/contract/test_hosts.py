"""Every host that there is an adapter for keeps the contract of hosts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from deerflow_host import Host, Thread, ai, human, make_manager, resolve, tool
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from scripted_model import ScriptedModel

from honcho_memory import HonchoMemory, open_memory
from honcho_memory.adapters.langchain import HonchoMemoryMiddleware
from honcho_memory.testing.host_contract import ADA, HostContract, HostUnderTest, OpenHost

from .deerflow_suite import BY_COLON

PATIENCE = 60.0


class DeerFlow:
    """DeerFlow, or its double."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self._threads: dict[str, Thread] = {}
        self._manager = self._start()

    def _start(self) -> Any:
        return make_manager(resolve(BY_COLON), {"base_url": self._url}, storage_path=self._folder)

    def turn(self, thread: str, question: str, answer: str, *, user: str | None = ADA) -> None:
        """See `HostUnderTest.turn`."""
        state = self._threads.setdefault(thread, Thread(thread))
        host = Host(self._manager, user_id=cast("str", user))  # DeerFlow does lose users
        call = ai("Let me look…", tools=["look_up"])
        asyncio.run(host.run(state, human(question), call, tool("found"), ai(answer)))

    def given(self, thread: str) -> str:
        """See `HostUnderTest.given`."""
        return "\n".join(str(message.content) for message in self._threads[thread].messages)

    def deliver(self) -> bool:
        """See `HostUnderTest.deliver`."""
        return bool(self._manager.shutdown_flush(PATIENCE))

    def restart(self) -> None:
        """See `HostUnderTest.restart`."""
        self._manager.close()
        self._manager = self._start()
        self._manager.warm()

    def close(self) -> None:
        """See `HostUnderTest.close`."""
        self._manager.close()


@dataclass
class Context:
    """What the host knows of a run."""

    user_id: str | None


@langchain_tool
def look_up(what: str) -> str:
    """Look something up."""
    return f"found {what}"


class LangChain:
    """An agent of `create_agent` with a checkpointer."""

    def __init__(self, url: str, folder: Path) -> None:
        self._settings = {"base_url": url, "storage_path": str(folder)}
        self._checkpointer = InMemorySaver()
        self._answer = ""
        self._start()

    def _start(self) -> None:
        self._memory: HonchoMemory = open_memory(self._settings)
        self._memory.warm()
        middleware = HonchoMemoryMiddleware[Context](
            self._memory, user_id=lambda context: context.user_id
        )
        self._agent: Any = create_agent(
            ScriptedModel(self._script),
            tools=[look_up],
            middleware=[middleware],
            checkpointer=self._checkpointer,
            context_schema=Context,
        )

    def _script(self, messages: Any) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage(self._answer)
        call = {"name": "look_up", "args": {"what": "it"}, "id": "call"}
        return AIMessage("Let me look…", tool_calls=[call])

    def turn(self, thread: str, question: str, answer: str, *, user: str | None = ADA) -> None:
        """See `HostUnderTest.turn`."""
        self._answer = answer
        self._agent.invoke(
            {"messages": [HumanMessage(question)]}, config_of(thread), context=Context(user)
        )

    def given(self, thread: str) -> str:
        """See `HostUnderTest.given`."""
        messages: list[BaseMessage] = self._agent.get_state(config_of(thread)).values["messages"]
        return "\n".join(str(message.content) for message in messages)

    def deliver(self) -> bool:
        """See `HostUnderTest.deliver`."""
        return self._memory.flush(PATIENCE)

    def restart(self) -> None:
        """See `HostUnderTest.restart`."""
        self._memory.close()
        self._start()

    def close(self) -> None:
        """See `HostUnderTest.close`."""
        self._memory.close()


def config_of(thread: str) -> dict[str, Any]:
    """The configuration of a run in a thread."""
    return {"configurable": {"thread_id": thread}}


class TestDeerFlow(HostContract):
    @pytest.fixture
    def open_host(self) -> OpenHost:
        def open_host(url: str, folder: Path) -> HostUnderTest:
            return DeerFlow(url, folder)

        return open_host


class TestLangChain(HostContract):
    @pytest.fixture
    def open_host(self) -> OpenHost:
        def open_host(url: str, folder: Path) -> HostUnderTest:
            return LangChain(url, folder)

        return open_host
