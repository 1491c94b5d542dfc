"""Memory for an agent in one line: recalled before a run, remembered after it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.typing import ContextT

from honcho_memory.adapters.langchain.snapshots import DEFAULT_MARKER, Snapshots
from honcho_memory.adapters.langchain.turns import (
    NOBODY,
    NOTHING_NOTED,
    MemoryState,
    Noted,
    begun,
    ended,
    of_owner,
)
from honcho_memory.adapters.langchain.who import Who, user_of
from honcho_memory.application.off_loop import NoThread, OffLoop
from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.domain.identity import digest
from honcho_memory.domain.results import Outcome
from honcho_memory.domain.text import join_blocks
from honcho_memory.ports.host import Memory

logger = logging.getLogger("honcho_memory")

AT_ONCE = 128
"""More than there can be requests at once, so that a recall waits within its own deadline."""

State = AgentState[Any]
Update = dict[str, Any]

_TAKEN = {"hide_from_ui", "lc_source", "scheduled_prompt"}


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
        ConfigurationError: `keep` is less than 1, the marker is empty or LangChain's own, or a
            callable is a coroutine function.
    """

    state_schema: type[State] = MemoryState

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
        if not marker or marker in _TAKEN:
            raise ConfigurationError(f"marker must be a name of its own, not {marker!r}")
        for name, given in (("user_id", user_id), ("remember", remember)):
            if inspect.iscoroutinefunction(given):
                raise ConfigurationError(f"{name} must not be a coroutine function")
        self._memory = memory
        self._user_id = user_id
        self._remember = remember
        self._use_query = use_query
        self._snapshots = Snapshots(marker, keep)
        self._agent_name = agent_name
        self._off_loop = OffLoop("honcho-langchain", limit=AT_ONCE)

    @property
    def name(self) -> str:
        """An agent has one middleware of a name, and may have several memories."""
        own = type(self).__name__
        marker = self._snapshots.marker
        return own if marker == DEFAULT_MARKER else f"{own}[{marker}]"

    def before_agent(self, state: State, runtime: Runtime[ContextT]) -> Update:
        """Put what is known of the user into the thread, where it is new."""
        user_id = user_of(self._user_id, runtime.context) or None
        messages = state["messages"]
        changes = self._recalled(messages, user_id)
        owner = _owner(user_id) if self._is_remembered(runtime.context) else NOBODY
        noted = begun(self._snapshots.left_out(messages), self._noted(state), owner)
        return {"messages": changes, **self._note(noted)}

    async def abefore_agent(self, state: State, runtime: Runtime[ContextT]) -> Update:
        """Like `before_agent`, without blocking the event loop."""
        return await self._beside(lambda: self.before_agent(state, runtime))

    def after_agent(self, state: State, runtime: Runtime[ContextT]) -> Update:
        """Hand the user's part of the thread over to memory."""
        user_id = user_of(self._user_id, runtime.context) or None
        owner = _owner(user_id) if self._is_remembered(runtime.context) else NOBODY
        messages, noted = self._snapshots.left_out(state["messages"]), self._noted(state)
        if owner != NOBODY:
            self._hand_over(of_owner(messages, noted, owner), user_id)
        return self._note(ended(messages, noted, owner))

    async def aafter_agent(self, state: State, runtime: Runtime[ContextT]) -> Update:
        """Like `after_agent`, without blocking the event loop."""
        return await self._beside(lambda: self.after_agent(state, runtime))

    async def _beside(self, step: Callable[[], Update]) -> Update:
        try:
            return await self._off_loop.run(step)
        except NoThread:
            # Then no request can be made either, so that it is over at once.
            return step()

    def _recalled(self, messages: list[AnyMessage], user_id: str | None) -> list[BaseMessage]:
        """What changes in the thread."""
        owner, place = _owner(user_id), self._snapshots.question(messages)
        others = self._snapshots.without_others(messages, owner)
        if user_id is None or place is None:
            return others
        query = join_blocks(messages[place].content) if self._use_query else None
        recall = self._memory.recall(user_id, query=query)
        if recall.outcome in {Outcome.FAILED, Outcome.NOBODY}:
            return others
        return [*others, *self._snapshots.updated(messages, place, recall.text, owner)]

    def _hand_over(self, messages: Sequence[AnyMessage], user_id: str | None) -> None:
        thread_id = get_config().get("configurable", {}).get("thread_id")
        if thread_id in {None, ""}:
            logger.warning(
                "a run is not remembered: its config has no configurable.thread_id",
                extra={"operation": "remember"},
            )
            return
        self._memory.remember(
            str(thread_id), messages, user_id=user_id, agent_name=self._agent_name
        )

    def _is_remembered(self, context: ContextT) -> bool:
        # A coroutine, of a callable that is not what it should be, is no yes.
        return (self._remember(context) if callable(self._remember) else self._remember) is True

    def _noted(self, state: State) -> Noted:
        notes = cast("MemoryState", state).get("honcho_memory", {})
        return notes.get(self._snapshots.marker, NOTHING_NOTED)

    def _note(self, noted: Noted) -> dict[str, Any]:
        return {"honcho_memory": {self._snapshots.marker: noted}}


def _owner(user_id: str | None) -> str:
    """A user as the checkpoint knows them."""
    return NOBODY if not user_id else digest(user_id, 16)
