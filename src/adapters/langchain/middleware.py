"""Memory for an agent in one line: recalled before a run, remembered after it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AnyMessage, RemoveMessage
from langgraph.config import get_config
from langgraph.graph.message import (  # pyright: ignore[reportMissingTypeStubs]
    REMOVE_ALL_MESSAGES,
)
from langgraph.runtime import Runtime
from langgraph.typing import ContextT

from honcho_memory.adapters.langchain.snapshots import DEFAULT_MARKER, Snapshots
from honcho_memory.adapters.langchain.who import Who, user_of
from honcho_memory.application.off_loop import OffLoop
from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.domain.results import Outcome
from honcho_memory.domain.text import join_blocks
from honcho_memory.ports.host import Memory

logger = logging.getLogger("honcho_memory")

AT_ONCE = 128
"""More than there can be requests at once, so that a recall waits within its own deadline."""

State = AgentState[Any]
Update = dict[str, Any] | None


class HonchoMemoryMiddleware(AgentMiddleware[State, ContextT]):
    """Recalls a user's memory before an agent's run, and remembers the run after it.

    What is known goes into the thread as a hidden human message just before the user's own, so
    that it is part of the checkpoint, and earlier prompts stay as they were. While it has not
    changed, nothing is added. See `Snapshots`.

    Under a `fail_open` memory the agent runs on when Honcho cannot be asked; under
    `fail_closed` the run stops with the memory's error.

    Args:
        memory: From `open_memory`; its `read_only()` view for an agent that must not write.
        user_id: Whose memory: an id, or a callable that gets the run's context and gives one.
            There is no memory for None or an empty one, nor where a callable finds no context.
        remember: Whether runs are remembered; a callable gets the run's context and says so for
            each.
        use_query: Whether the user's message is given to the recall, so that what is near it
            comes too. Then the snapshot may change with every message.
        marker: The key in `additional_kwargs` that marks a snapshot.
        keep: How many snapshots of a thread keep their text; None for all.
        agent_name: Kept with the messages.

    Raises:
        ConfigurationError: `keep` is less than 1, or there is no marker.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: Who[ContextT],
        remember: bool | Callable[[ContextT], bool] = True,
        use_query: bool = False,
        marker: str = DEFAULT_MARKER,
        keep: int | None = None,
        agent_name: str | None = None,
    ) -> None:
        super().__init__()
        if keep is not None and keep < 1:
            raise ConfigurationError(f"keep must be at least 1, or None for all, not {keep}")
        if not marker:
            raise ConfigurationError("marker must not be empty")
        self._memory = memory
        self._user_id = user_id
        self._remember = remember
        self._use_query = use_query
        self._snapshots = Snapshots(marker, keep)
        self._agent_name = agent_name
        self._off_loop = OffLoop("honcho-langchain", limit=AT_ONCE)

    def before_agent(self, state: State, runtime: Runtime[ContextT]) -> Update:
        """Put what is known of the user into the thread, where it is new."""
        user_id = user_of(self._user_id, runtime.context)
        return self._recalled(state["messages"], user_id) if user_id else None

    async def abefore_agent(self, state: State, runtime: Runtime[ContextT]) -> Update:
        """Like `before_agent`, without blocking the event loop."""
        user_id = user_of(self._user_id, runtime.context)
        if not user_id:
            return None
        return await self._off_loop.run(lambda: self._recalled(state["messages"], user_id))

    def after_agent(self, state: State, runtime: Runtime[ContextT]) -> Update:
        """Hand the thread over to memory."""
        hand_over = self._hand_over(state, runtime)
        if hand_over is not None:
            hand_over()
        return None

    async def aafter_agent(self, state: State, runtime: Runtime[ContextT]) -> Update:
        """Like `after_agent`, without blocking the event loop."""
        hand_over = self._hand_over(state, runtime)
        if hand_over is not None:
            await self._off_loop.run(hand_over)
        return None

    def _recalled(self, messages: list[AnyMessage], user_id: str) -> Update:
        place = self._snapshots.question(messages)
        if place is None:
            return None
        query = join_blocks(messages[place].content) if self._use_query else None
        recall = self._memory.recall(user_id, query=query)
        if recall.outcome in {Outcome.FAILED, Outcome.NOBODY}:
            return None
        thread = self._snapshots.updated(messages, place, recall.text)
        if thread is None:
            return None
        # A message that is put back under its own id stays where it is: to get something in
        # front of one, the thread has to be laid anew.
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *thread]}

    def _hand_over(self, state: State, runtime: Runtime[ContextT]) -> Callable[[], int] | None:
        """What hands the thread over; None when this run is not to be remembered."""
        user_id = user_of(self._user_id, runtime.context)
        if not user_id or not self._is_remembered(runtime.context):
            return None
        thread_id = get_config().get("configurable", {}).get("thread_id")
        if not thread_id:
            logger.warning(
                "a run is not remembered: its config has no configurable.thread_id",
                extra={"operation": "remember"},
            )
            return None
        messages = self._snapshots.left_out(state["messages"])
        return lambda: self._memory.remember(
            str(thread_id), messages, user_id=user_id, agent_name=self._agent_name
        )

    def _is_remembered(self, context: ContextT) -> bool:
        return self._remember(context) if callable(self._remember) else self._remember
