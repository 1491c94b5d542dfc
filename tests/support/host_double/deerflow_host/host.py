"""The lead agent's runs, and DeerFlow's start and stop."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from deerflow.agents.memory.manager import MemoryManager, MemoryManagerError

from deerflow_host.messages import Message, human, system
from deerflow_host.thread import Thread

CONTEXT_LIMIT = 5.0
WARM_LIMIT = 5.0


class RunStopped(Exception):
    """The run was stopped before the model was asked: memory is required and cannot be read."""


class Host:
    """Runs threads for one user with one memory manager.

    Args:
        manager: The process's only one.
        user_id: Who is talking; `default` when the host does not know.
        agent_name: Of a custom agent.
        trace_id: Of the requests.
        context_limit: Seconds after which the host goes on without memory, and without the date.
    """

    def __init__(
        self,
        manager: MemoryManager,
        *,
        user_id: str = "default",
        agent_name: str | None = None,
        trace_id: str | None = "trace-1",
        context_limit: float = CONTEXT_LIMIT,
    ) -> None:
        self.manager = manager
        self._user_id = user_id
        self._agent_name = agent_name
        self._trace_id = trace_id
        self._context_limit = context_limit

    async def start(self) -> bool | None:
        """Warm up, off the event loop and for a few seconds at most."""
        return await asyncio.wait_for(asyncio.to_thread(self.manager.warm), WARM_LIMIT)

    async def stop(self, timeout: float) -> bool:
        """Deliver what waits, and close; says whether everything was delivered."""

        def stop() -> bool:
            is_empty = self.manager.shutdown_flush(timeout)
            self.manager.close()
            return is_empty

        return await asyncio.to_thread(stop)

    async def run(self, thread: Thread, question: Message, *answers: Message) -> None:
        """A run: the user's message, memory before the first one, answers, and the hand-over.

        Raises:
            RunStopped: Memory is required and cannot be read.
        """
        (asked,) = thread.apply(question)
        if not thread.has_memory:
            await self.inject(thread, asked)
        thread.apply(*answers)
        await self.hand_over(thread)

    async def inject(self, thread: Thread, message: Message) -> None:
        """Turn one message into three: the date in its place, the memory, and the message."""
        try:
            text = await asyncio.wait_for(
                asyncio.to_thread(
                    self.manager.get_context, user_id=self._user_id, agent_name=self._agent_name
                ),
                self._context_limit,
            )
        except TimeoutError:
            return  # neither memory nor date; the next turn tries again
        except Exception as error:
            if isinstance(error, MemoryManagerError) and self._needs_memory():
                raise RunStopped from error
            text = ""
        thread.has_memory = True
        thread.apply(system("Today is Sunday, 1 March 2026.", message.id))
        if text:
            memory = human(
                f"<memory>\n{text}\n</memory>",
                f"{message.id}__memory",
                hide_from_ui=True,
                dynamic_context_reminder=True,
            )
            thread.apply(memory)
        thread.apply(replace(message, id=f"{message.id}__user"))

    def _needs_memory(self) -> bool:
        """As the host reads it: a policy that is no mapping is an AttributeError."""
        policy: Any = self.manager.backend_config.get("failure_policy", {})
        return bool(policy.get("read") == "fail_closed")

    async def hand_over(self, thread: Thread) -> None:
        """After a run: the whole state, awaited on the event loop; an error fails the run."""
        await self.manager.aadd(
            thread.id,
            list(thread.messages),
            agent_name=self._agent_name,
            user_id=self._user_id,
            trace_id=self._trace_id,
        )

    def summarize(self, thread: Thread, *, keep: int) -> None:
        """Take all but the newest messages out of the state, handing them over on the loop."""
        going = thread.messages[:-keep]
        self.manager.add_nowait(
            thread.id, going, agent_name=self._agent_name, user_id=self._user_id
        )
        del thread.messages[: len(going)]

    async def regenerate(self, thread: Thread, answer: Message) -> None:
        """Answer the last question again: the same question, its text now a list of blocks."""
        place = thread.last_question()
        question = thread.messages[place]
        if isinstance(question.content, str):
            question = replace(question, content=[{"type": "text", "text": question.content}])
        del thread.messages[place:]
        await self.run(thread, question, answer)

    async def edit(self, thread: Thread, question: Message, answer: Message) -> None:
        """Ask something else in the place of the last question."""
        del thread.messages[thread.last_question() :]
        await self.run(thread, question, answer)

    async def next_day(self, thread: Thread) -> None:
        """Put a new date before the last question, whose id changes for it."""
        await self.inject(thread, thread.messages[thread.last_question()])
