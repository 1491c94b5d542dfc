"""Memory that a model drives itself: tools to search, add, update and delete facts."""

from __future__ import annotations

import functools
import inspect
import json
import logging
from collections.abc import Callable
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.typing import ContextT

from honcho_memory.adapters.langchain.who import Who, user_of
from honcho_memory.application.off_loop import NoThread, OffLoop
from honcho_memory.domain.document import fact_mapping, iso
from honcho_memory.domain.errors import (
    InvalidFact,
    NoUser,
    ReadOnlyMemoryError,
    UnknownFact,
    loggable,
)
from honcho_memory.domain.facts import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE
from honcho_memory.domain.results import Fact, SaidMessage
from honcho_memory.domain.text import repair
from honcho_memory.ports.host import Memory

logger = logging.getLogger("honcho_memory")

Answer = dict[str, Any]
Run = ToolRuntime[Any, Any]

AT_ONCE = 32
MOST_HITS = 20
MOST_CHARS = 2_000
"""Of one text in an answer, which stays in the thread: what was said may be a whole document."""
FOR_THE_MODEL = (InvalidFact, NoUser, ReadOnlyMemoryError, UnknownFact)
"""What the model can do something about."""


def memory_tools(memory: Memory, *, user_id: Who[ContextT]) -> list[BaseTool]:
    """The tools `memory_search`, `memory_add`, `memory_update` and `memory_delete`.

    Each answers with JSON; a failure is an answer too, `{"error": …}`, so that the agent runs
    on. Whose memory it is comes from the run, never from what the model says.

    Args:
        memory: From `open_memory`.
        user_id: An id, or a callable that gets the run's context and gives one.
    """
    return _Tools(memory, user_id).all()


class _Tools:
    def __init__(self, memory: Memory, who: Who[Any]) -> None:
        self._memory = memory
        self._who = who
        self._off_loop = OffLoop("honcho-tools", limit=AT_ONCE)

    def all(self) -> list[BaseTool]:
        calls = (self.memory_search, self.memory_add, self.memory_update, self.memory_delete)
        return [self._tool(call) for call in calls]

    def memory_search(
        self,
        runtime: Run,
        query: str,
        limit: int = 10,
        category: str | None = None,
    ) -> Answer:
        """Search what is known of the user.

        It finds facts, with the ids that memory_update and memory_delete take, and what was said
        in earlier conversations.
        """
        found = self._memory.search(
            query, user_id=self._user(runtime), top_k=min(limit, MOST_HITS), category=category
        )
        if found.error is not None:
            raise found.error
        return {"results": [_item(hit) for hit in found]}

    def memory_add(
        self,
        runtime: Run,
        content: str,
        category: str = DEFAULT_CATEGORY,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> Answer:
        """Remember a fact about the user for good; the confidence is between 0 and 1."""
        changed = self._memory.add_fact(
            content, user_id=self._user(runtime), category=category, confidence=confidence
        )
        return {"status": "added", "fact_id": changed.fact.id}

    def memory_update(
        self,
        runtime: Run,
        fact_id: str,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
    ) -> Answer:
        """Correct a fact about the user; what is left out stays as it is."""
        changed = self._memory.update_fact(
            fact_id,
            user_id=self._user(runtime),
            content=content,
            category=category,
            confidence=confidence,
        )
        return {"status": "updated", "fact_id": changed.fact.id}

    def memory_delete(self, runtime: Run, fact_id: str) -> Answer:
        """Forget a fact about the user; what the user said, from which it was drawn, stays."""
        self._memory.delete_fact(fact_id, user_id=self._user(runtime))
        return {"status": "deleted", "fact_id": fact_id}

    def _user(self, runtime: Run) -> str | None:
        return user_of(self._who, runtime.context)

    def _tool(self, call: Callable[..., Answer]) -> BaseTool:
        @functools.wraps(call)
        def answer(**arguments: Any) -> str:
            return _answer(lambda: call(**arguments))

        @functools.wraps(call)
        async def answer_off_loop(**arguments: Any) -> str:
            try:
                return await self._off_loop.run(lambda: answer(**arguments))
            except NoThread:
                # Then no request can be made either, so that it is over at once.
                return answer(**arguments)

        return StructuredTool.from_function(
            answer, coroutine=answer_off_loop, description=inspect.getdoc(call)
        )


def _answer(call: Callable[[], Answer]) -> str:
    """What the model reads, of a failure too; of a foreign one it learns nothing."""
    try:
        answer = call()
    except FOR_THE_MODEL as error:
        answer = {"error": _cut(str(error))}
    except Exception as error:  # noqa: BLE001 - the agent runs on; only what a model may read goes there
        logger.warning(
            "a memory tool failed: %s",
            loggable(error),
            extra={"operation": "tool", "error_type": type(error).__name__},
        )
        answer = {"error": "memory cannot be used at the moment"}
    return json.dumps(answer, ensure_ascii=False)


def _item(hit: Fact | SaidMessage) -> Answer:
    if isinstance(hit, Fact):
        return {**fact_mapping(hit), "content": _cut(hit.content)}
    return {
        "content": _cut(repair(hit.content)),
        "category": hit.category,
        "createdAt": iso(hit.created_at),
    }


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}…"
