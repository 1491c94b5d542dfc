"""DeerFlow's `MemoryManager`, kept by a Honcho."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self, TypeVar

from deerflow.agents.memory.manager import MemoryManager, MemoryManagerError
from pydantic import ConfigDict, PrivateAttr

from honcho_memory.adapters.deerflow.lost_user import LostUser
from honcho_memory.adapters.deerflow.shapes import DEFAULT_TOP_K, found_item, how_many
from honcho_memory.application.off_loop import OffLoop
from honcho_memory.bootstrap import open_memory
from honcho_memory.domain.document import to_mapping
from honcho_memory.domain.errors import (
    DuplicateFact,
    HonchoMemoryError,
    InvalidFact,
    UnknownFact,
    loggable,
)
from honcho_memory.domain.facts import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.policy import ReadPolicy
from honcho_memory.domain.results import Document, Fact
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.host import KeepHidden, Memory
from honcho_memory.settings import Settings

logger = logging.getLogger("honcho_memory")

LATE_ID_SUFFIX = "__user"
"""DeerFlow puts it on the id of a message that it gives memory or the date to, at times days
after the message was first handed over."""
WRITES_AT_ONCE = 8
READS_AT_ONCE = 128
"""More than there can be requests at once, so that a read waits within its own deadline."""

T = TypeVar("T")


class HonchoMemoryManager(MemoryManager):
    """Long-term memory for DeerFlow, through a Honcho server.

    What is said is handed to an outbox and delivered in the background; what Honcho has
    concluded comes back for injection and search. One instance may be used from many threads
    and event loops at once, also after `close`.

    Args:
        backend_config: DeerFlow's `memory.backend_config`, see `Settings`.
        mode: `middleware` or `tool`; turns are remembered in both.
        callbacks: DeerFlow's, kept for it.
        should_keep_hidden_message: DeerFlow's hook that decides which of its hidden messages
            the user said after all.
        honcho: An adapter to use instead of HTTP, for tests and demos.
        clock: The time, for tests.
        host_hooks: Whatever else DeerFlow offers to its backends.

    Raises:
        ConfigurationError: A setting is wrong. Honcho itself is not asked anything yet.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    supports_search: ClassVar[bool] = True
    requires_passive_writes_in_tool_mode: ClassVar[bool] = True

    _settings: Settings = PrivateAttr()
    _memory: Memory = PrivateAttr()
    _identities: Identities = PrivateAttr()
    _clock: Clock = PrivateAttr()
    _writes: OffLoop = PrivateAttr()
    _reads: OffLoop = PrivateAttr()
    _lost_user: LostUser = PrivateAttr()

    def __init__(
        self,
        *,
        backend_config: Mapping[str, Any] | None = None,
        mode: Literal["middleware", "tool"] = "middleware",
        callbacks: Any = None,
        should_keep_hidden_message: KeepHidden | None = None,
        honcho: Honcho | None = None,
        clock: Clock = time,
        **host_hooks: Any,  # noqa: ARG002 - a newer DeerFlow may offer more
    ) -> None:
        # Before pydantic sees it: its errors show their input.
        settings = Settings.from_mapping(backend_config)
        super().__init__(backend_config=dict(backend_config or {}), mode=mode, callbacks=callbacks)
        reader = MessageReader(should_keep_hidden_message, id_suffix=LATE_ID_SUFFIX)
        self._settings = settings
        self._memory = open_memory(settings, honcho=honcho, reader=reader, clock=clock)
        self._identities = settings.identities()
        self._clock = clock
        self._writes = OffLoop("honcho-deerflow-write", limit=WRITES_AT_ONCE)
        self._reads = OffLoop("honcho-deerflow-read", limit=READS_AT_ONCE)
        self._lost_user = LostUser(settings)

    @classmethod
    def from_config(
        cls,
        backend_config: Mapping[str, Any] | None,
        *,
        mode: Literal["middleware", "tool"] = "middleware",
        **host_hooks: Any,
    ) -> Self:
        """Build a manager, as DeerFlow's factory does; takes what the constructor takes.

        Raises:
            ConfigurationError: A setting is wrong.
        """
        return cls(backend_config=backend_config, mode=mode, **host_hooks)

    @classmethod
    def read_failures_are_fatal_for_config(cls, backend_config: object) -> bool:
        """Whether a run must stop when memory cannot be read; asked of the class, never raises."""
        match backend_config:
            case {"failure_policy": {"read": ReadPolicy.FAIL_CLOSED}}:
                return True
            case _:
                return False

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """What repr and str show: not `backend_config`, which may hold a key."""
        return [("base_url", self._settings.base_url), ("mode", self.mode)]

    def add(
        self,
        thread_id: str,
        messages: Sequence[object],
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Remember what is new in a thread; never raises, and makes no request of its own.

        When it returns, what is new waits in the outbox, or was refused with a warning and is
        taken when the thread is handed over again.

        Args:
            thread_id: DeerFlow's id of the thread.
            messages: The thread's messages, all of them or the newest, oldest first.
            agent_name: Kept with the messages.
            user_id: Whose words they are; nothing is remembered without one.
            trace_id: Kept with the messages.
        """
        with _keeping_the_run():
            self._lost_user.look_out(user_id)
            self._memory.remember(
                thread_id, messages, user_id=user_id, agent_name=agent_name, trace_id=trace_id
            )

    def add_nowait(
        self,
        thread_id: str,
        messages: Sequence[object],
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
    ) -> None:
        """Like `add`, but hands over to a thread and returns at once: for the event loop.

        DeerFlow calls it before it takes messages out of a thread.
        """
        with _keeping_the_run():
            self._lost_user.look_out(user_id)
            self._memory.remember_nowait(
                thread_id, messages, user_id=user_id, agent_name=agent_name
            )

    async def aadd(
        self,
        thread_id: str,
        messages: Sequence[object],
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Like `add`, without blocking the event loop: `add` has returned when this does.

        Cancelling it does not keep the turn out of memory.
        """
        with _keeping_the_run():
            # The host may change its list when this is cancelled.
            snapshot = list(messages)
            await self._writes.run(
                lambda: self.add(
                    thread_id,
                    snapshot,
                    agent_name=agent_name,
                    user_id=user_id,
                    trace_id=trace_id,
                )
            )

    def get_context(
        self,
        user_id: str | None,
        *,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
        thread_id: str | None = None,  # noqa: ARG002 - the same in every thread
    ) -> str:
        """What is known of a user, to put before a model; `""` for nobody or nothing.

        It takes `recall.deadline_seconds` and has `max_injection_chars` at most.

        Raises:
            MemoryManagerError: Honcho could not be asked, and the read policy is `fail_closed`.
        """
        return self._read(lambda: self._context(user_id), "")

    async def aget_context(
        self,
        user_id: str | None,
        *,
        agent_name: str | None = None,  # noqa: ARG002 - as in get_context
        thread_id: str | None = None,  # noqa: ARG002 - as in get_context
    ) -> str:
        """Like `get_context`, without blocking the event loop."""
        return await self._read_off_loop(lambda: self._context(user_id), "")

    def search(
        self,
        query: str,
        top_k: int = DEFAULT_TOP_K,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
        category: str | None = None,
    ) -> list[dict[str, Any]]:
        """Facts and messages near a text, best first.

        Args:
            query: Nothing is found for an empty one.
            top_k: How many at most, 100 at most; nothing is found for 0 or less.
            user_id: Whose memory; nothing is known of nobody.
            agent_name: Makes no difference.
            category: Only of this one; messages are of the category `memory`.

        Returns:
            Facts with `id, content, category, confidence, createdAt, source`, and messages with
            `content, category, session_id, peer_id, created_at, createdAt, source`. The source
            is a thread id where that is known.

        Raises:
            MemoryManagerError: Honcho could not be asked, and the read policy is `fail_closed`.
        """
        return self._read(lambda: self._found(query, top_k, user_id, category), [])

    async def asearch(
        self,
        query: str,
        top_k: int = DEFAULT_TOP_K,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,  # noqa: ARG002 - as in search
        category: str | None = None,
    ) -> list[dict[str, Any]]:
        """Like `search`, without blocking the event loop."""
        return await self._read_off_loop(lambda: self._found(query, top_k, user_id, category), [])

    def get_memory(
        self,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
    ) -> dict[str, Any]:
        """The memory document: facts, conclusions (`workContext`), peer card (`personalContext`).

        Raises:
            MemoryManagerError: Honcho could not be asked, and the read policy is `fail_closed`.
        """
        self._lost_user.look_out(user_id)
        document = self._read(lambda: self._memory.document(user_id), Document())
        return self._mapping(document)

    def reload_memory(
        self,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
    ) -> dict[str, Any]:
        """The memory document, without what is kept of earlier answers.

        Raises:
            MemoryManagerError: Honcho could not be asked, and the read policy is `fail_closed`.
        """
        document = self._read(lambda: self._memory.document(user_id, reload=True), Document())
        return self._mapping(document)

    def export_memory(
        self,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
    ) -> dict[str, Any]:
        """The memory document, whatever the read policy never an empty one for want of an answer.

        Raises:
            MemoryManagerError: There is no user, or Honcho could not be asked.
        """
        with _in_terms_of_deerflow("exported"):
            return self._mapping(self._memory.export(user_id))

    def import_memory(
        self,
        memory_data: object,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
    ) -> dict[str, Any]:
        """Take over a document of DeerFlow's default memory or of ours; returns the new one.

        What is there already is left alone. What cannot be imported is skipped and logged.

        Raises:
            ValueError: It is no memory document.
            MemoryManagerError: There is no user, or Honcho could not be asked.
        """
        with _in_terms_of_deerflow("imported"):
            imported = self._memory.import_document(memory_data, user_id=user_id)
            for skipped in imported.skipped:
                logger.warning(
                    "%s could not be imported: %s",
                    skipped.place,
                    skipped.reason,
                    extra={"operation": "import", "place": skipped.place},
                )
            return self._changed(user_id, imported.facts)

    def clear_memory(
        self, *, user_id: str | None = None, agent_name: str | None = None
    ) -> dict[str, Any]:
        """Delete all that is known of a user; returns the empty document.

        It does not come back when old threads are handed over again.

        Raises:
            NotImplementedError: With an `agent_name`: memory is of a user, not of an agent.
            MemoryManagerError: There is no user, or Honcho could not be asked; then call again.
        """
        if agent_name:
            raise NotImplementedError("memory is kept of users, and has no part for an agent")
        with _in_terms_of_deerflow("cleared"):
            self._memory.clear(user_id)
        return self._mapping(Document())

    def delete_memory(self, *, user_id: str | None = None, agent_name: str | None = None) -> None:
        """The same as `clear_memory`."""
        self.clear_memory(user_id=user_id, agent_name=agent_name)

    def create_fact(
        self,
        content: str,
        category: str = DEFAULT_CATEGORY,
        confidence: float = DEFAULT_CONFIDENCE,
        *,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
        user_id: str | None = None,
    ) -> tuple[dict[str, Any], str | None]:
        """Add a fact; returns the new document and the fact's id.

        Raises:
            ValueError: `confidence` alone when that is none, `Duplicate fact` when there is one
                that says the same, else what is wrong.
            MemoryManagerError: There is no user, or Honcho could not be asked.
        """
        with _in_terms_of_deerflow("changed"):
            changed = self._memory.add_fact(
                content, user_id=user_id, category=category, confidence=confidence
            )
            return self._changed(user_id, changed.facts), changed.fact.id

    def update_fact(
        self,
        fact_id: str,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        *,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
        user_id: str | None = None,
    ) -> dict[str, Any]:
        """Change a fact, which keeps its id and what is None; returns the new document.

        Raises:
            KeyError: The user has no such fact.
            ValueError: As `create_fact`.
            MemoryManagerError: There is no user, or Honcho could not be asked.
        """
        with _in_terms_of_deerflow("changed"):
            changed = self._memory.update_fact(
                fact_id,
                user_id=user_id,
                content=content,
                category=category,
                confidence=confidence,
            )
            return self._changed(user_id, changed.facts)

    def delete_fact(
        self,
        fact_id: str,
        *,
        agent_name: str | None = None,  # noqa: ARG002 - memory is of a user, not of an agent
        user_id: str | None = None,
    ) -> dict[str, Any]:
        """Delete a fact, but not the messages that it was drawn from; returns the new document.

        Raises:
            KeyError: The user has no such fact.
            MemoryManagerError: There is no user, or Honcho could not be asked.
        """
        with _in_terms_of_deerflow("changed"):
            changed = self._memory.delete_fact(fact_id, user_id=user_id)
            return self._changed(user_id, changed.facts)

    def warm(self) -> bool | None:
        """Check whether Honcho can be used, and say so in the log; always None.

        It never fails DeerFlow's start, and takes less than the 5 s that DeerFlow allows.
        DeerFlow would log any other result as a tokenizer's.
        """
        self._memory.warm()
        return None

    def shutdown_flush(self, timeout: float) -> bool:
        """Deliver what waits, for `timeout` seconds at most; returns whether nothing waits."""
        return self._memory.flush(timeout)

    def close(self) -> None:
        """Stop in bounded time; safe to call twice.

        Turns that are handed over later are still kept where the outbox is durable.
        """
        self._memory.close()

    def _mapping(self, document: Document) -> dict[str, Any]:
        now = datetime.fromtimestamp(self._clock.time(), UTC)
        return to_mapping(document, now, budget=self._settings.max_injection_chars)

    def _changed(self, user_id: str | None, facts: tuple[Fact, ...]) -> dict[str, Any]:
        """The document after a change, which is done even where the rest cannot be read."""
        try:
            return self._mapping(replace(self._memory.export(user_id), facts=facts))
        except HonchoMemoryError as error:
            logger.warning(
                "memory was changed, but cannot be read: %s",
                loggable(error),
                extra=_about("read", error),
            )
            return self._mapping(Document(facts=facts))

    def _context(self, user_id: str | None) -> str:
        self._lost_user.look_out(user_id)
        return self._memory.recall(user_id).text

    def _found(
        self, query: object, wanted: object, user_id: str | None, category: object
    ) -> list[dict[str, Any]]:
        self._lost_user.look_out(user_id)
        found = self._memory.search(
            query if isinstance(query, str) else "",
            user_id=user_id,
            top_k=how_many(wanted),
            category=category if isinstance(category, str) and category else None,
        )
        return [found_item(item, self._identities) for item in found]

    def _read(self, read: Callable[[], T], fallback: T) -> T:
        try:
            return read()
        except Exception as error:  # noqa: BLE001 - the read policy is for any failure
            return self._failed(error, fallback)

    async def _read_off_loop(self, read: Callable[[], T], fallback: T) -> T:
        try:
            return await self._reads.run(read)
        except Exception as error:  # noqa: BLE001 - the read policy is for any failure
            return self._failed(error, fallback)

    def _failed(self, error: Exception, fallback: T) -> T:
        """What the read policy says; DeerFlow stops a run for a `MemoryManagerError` alone."""
        if self._settings.failure_policy.read is ReadPolicy.FAIL_CLOSED:
            raise MemoryManagerError(f"memory cannot be read: {_reason(error)}") from error
        logger.warning("memory cannot be read: %s", loggable(error), extra=_about("read", error))
        return fallback


@contextmanager
def _in_terms_of_deerflow(done: str) -> Generator[None]:
    """Raise what DeerFlow understands, where something could not be done."""
    try:
        yield
    except UnknownFact as error:
        raise KeyError(str(error)) from error
    except DuplicateFact as error:
        raise ValueError("Duplicate fact") from error
    except InvalidFact as error:
        raise ValueError("confidence" if error.field == "confidence" else str(error)) from error
    except Exception as error:
        raise MemoryManagerError(f"memory cannot be {done}: {_reason(error)}") from error


@contextmanager
def _keeping_the_run() -> Generator[None]:
    """Let nothing out: it would fail DeerFlow's run after its answer was given."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - see above
        logger.warning(
            "a turn could not be taken into memory: %s",
            loggable(error),
            extra=_about("remember", error),
        )


def _about(operation: str, error: Exception) -> dict[str, object]:
    """What a line of the log carries beside its text."""
    return {"operation": operation, "error_type": type(error).__name__}


def _reason(error: Exception) -> str:
    """Only the kind of a foreign error: its text may hold what users said."""
    return str(error) if isinstance(error, HonchoMemoryError) else type(error).__name__
