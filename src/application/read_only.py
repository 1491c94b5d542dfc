"""A memory that can be read and never written."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NoReturn

from honcho_memory.domain.errors import ReadOnlyMemoryError
from honcho_memory.domain.profile import Profile
from honcho_memory.domain.results import Document, Fact, Found, Recall
from honcho_memory.ports.host import Memory

logger = logging.getLogger("honcho_memory")


class ReadOnlyMemory:
    """A view of a memory for whoever must not add to it; see `honcho_memory.ports.host.Memory`.

    What is handed over is not remembered, without an error: a host calls `remember` in every
    run. What would change the memory raises `ReadOnlyMemoryError`. The memory behind it is not
    closed with it.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def remember(
        self,
        thread_id: str,
        messages: Sequence[object],  # noqa: ARG002 - nothing becomes of it
        *,
        user_id: str | None,  # noqa: ARG002 - nothing becomes of it
        agent_name: str | None = None,  # noqa: ARG002 - nothing becomes of it
        trace_id: str | None = None,  # noqa: ARG002 - nothing becomes of it
    ) -> int:
        """Remember nothing."""
        logger.debug("nothing of thread %s is remembered: the memory is read only", thread_id)
        return 0

    def remember_nowait(
        self,
        thread_id: str,
        messages: Sequence[object],
        *,
        user_id: str | None,
        agent_name: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Remember nothing."""
        self.remember(
            thread_id, messages, user_id=user_id, agent_name=agent_name, trace_id=trace_id
        )

    def recall(self, user_id: str | None, *, query: str | None = None) -> Recall:
        """What is known of a user; see `Memory.recall`."""
        return self._memory.recall(user_id, query=query)

    def search(
        self, query: str, *, user_id: str | None, top_k: int = 5, category: str | None = None
    ) -> Found:
        """Facts and messages near a text; see `Memory.search`."""
        return self._memory.search(query, user_id=user_id, top_k=top_k, category=category)

    def document(self, user_id: str | None, *, reload: bool = False) -> Document:
        """All that is known of a user; see `MemoryManagement.document`."""
        return self._memory.document(user_id, reload=reload)

    def export(self, user_id: str | None) -> Document:
        """All that is known of a user, or an error; see `MemoryManagement.export`."""
        return self._memory.export(user_id)

    def facts(self, user_id: str | None) -> tuple[Fact, ...]:
        """All facts about a user; see `MemoryManagement.facts`."""
        return self._memory.facts(user_id)

    def profile(self, user_id: str | None) -> Profile:
        """What a user wants to be known by; see `MemoryManagement.profile`."""
        return self._memory.profile(user_id)

    def set_profile(self, profile: Profile, *, user_id: str | None) -> NoReturn:  # noqa: ARG002
        """Refuse; as everything that would change the memory."""
        self._refuse()

    def add_fact(self, content: str, **more: object) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def update_fact(self, fact_id: str, **more: object) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def delete_fact(self, fact_id: str, **more: object) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def import_document(self, document: object, **more: object) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def clear(self, user_id: str | None) -> NoReturn:  # noqa: ARG002
        """Refuse."""
        self._refuse()

    def warm(self) -> None:
        """Get ready; see `Memory.warm`."""
        self._memory.warm()

    def is_usable(self) -> bool:
        """Whether Honcho can be used; see `Memory.is_usable`."""
        return self._memory.is_usable()

    def flush(self, timeout: float) -> bool:  # noqa: ARG002
        """Nothing waits here."""
        return True

    def close(self) -> None:
        """Leave the memory open: it is somebody else's."""

    def _refuse(self) -> NoReturn:
        raise ReadOnlyMemoryError("this view of the memory is read only")
