"""DeerFlow's contract for memory backends, written after how DeerFlow behaves.

No folder above has an `__init__.py`: a real DeerFlow, wherever it is on the path, goes first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

IS_DOUBLE = True

Mode = Literal["middleware", "tool"]


class MemoryManagerError(RuntimeError):
    """A backend failed in a way that the host understands."""


class MemoryConflictError(MemoryManagerError):
    """Somebody else changed the memory at the same time; a 409 over HTTP."""


class MemoryCorruptionError(MemoryManagerError):
    """The stored memory cannot be read; a 500 over HTTP."""


class MemoryCallbacks:
    """What the host wants to hear of a backend's own model calls."""


class MemoryManager(BaseModel):
    """What a backend subclasses: two duties, and what it may do besides."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    supports_search: ClassVar[bool] = False
    requires_passive_writes_in_tool_mode: ClassVar[bool] = False

    backend_config: dict[str, Any] = Field(default_factory=dict)
    mode: Mode = "middleware"
    callbacks: MemoryCallbacks | None = None

    @field_validator("backend_config", mode="before")
    @classmethod
    def _none_is_empty(cls, given: object) -> object:
        return {} if given is None else given

    @model_validator(mode="after")
    def _says_truly_whether_it_searches(self) -> Self:
        searches = type(self).search is not MemoryManager.search
        if searches is not self.supports_search:
            raise ValueError("supports_search does not say whether search is overridden")
        if self.mode == "tool" and not searches:
            raise ValueError("tool mode needs a backend that searches")
        return self

    @classmethod
    @abstractmethod
    def from_config(
        cls, backend_config: dict[str, Any], *, mode: Mode = "middleware", **host_hooks: Any
    ) -> MemoryManager: ...

    @classmethod
    def read_failures_are_fatal_for_config(cls, backend_config: Mapping[str, Any] | None) -> bool:
        return False

    @abstractmethod
    def add(
        self,
        thread_id: str,
        messages: list[Any],
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
        trace_id: str | None = None,
    ) -> None: ...

    @abstractmethod
    def get_context(
        self, user_id: str | None, *, agent_name: str | None = None, thread_id: str | None = None
    ) -> str: ...

    def add_nowait(
        self,
        thread_id: str,
        messages: list[Any],
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
    ) -> None:
        self.add(thread_id, messages, agent_name=agent_name, user_id=user_id)

    def search(
        self,
        query: str,
        top_k: int = 5,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,
        category: str | None = None,
    ) -> list[dict[str, Any]]:
        self._unsupported("search")

    def get_memory(
        self, *, user_id: str | None = None, agent_name: str | None = None
    ) -> dict[str, Any]:
        self._unsupported("get_memory")

    def clear_memory(
        self, *, user_id: str | None = None, agent_name: str | None = None
    ) -> dict[str, Any]:
        self._unsupported("clear_memory")

    def export_memory(
        self, *, user_id: str | None = None, agent_name: str | None = None
    ) -> dict[str, Any]:
        self._unsupported("export_memory")

    def delete_memory(self, *, user_id: str | None = None, agent_name: str | None = None) -> None:
        self._unsupported("delete_memory")

    def import_memory(
        self,
        memory_data: dict[str, Any],
        *,
        user_id: str | None = None,
        agent_name: str | None = None,
    ) -> dict[str, Any]:
        self._unsupported("import_memory")

    def shutdown_flush(self, timeout: float) -> bool:
        return True

    def warm(self) -> bool | None:
        return None

    def reload_memory(
        self, *, user_id: str | None = None, agent_name: str | None = None
    ) -> dict[str, Any]:
        self._unsupported("reload_memory")

    def create_fact(
        self,
        content: str,
        category: str = "context",
        confidence: float = 0.5,
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
    ) -> tuple[dict[str, Any], str | None]:
        self._unsupported("create_fact")

    def delete_fact(
        self, fact_id: str, *, agent_name: str | None = None, user_id: str | None = None
    ) -> dict[str, Any]:
        self._unsupported("delete_fact")

    def update_fact(
        self,
        fact_id: str,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
    ) -> dict[str, Any]:
        self._unsupported("update_fact")

    def on_pre_compress(self, messages: list[Any]) -> str:
        return ""

    def on_turn_start(self, turn_number: int, message: Any, **kwargs: Any) -> None:
        return None

    async def aadd(
        self,
        thread_id: str,
        messages: list[Any],
        *,
        agent_name: str | None = None,
        user_id: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        self.add(thread_id, messages, agent_name=agent_name, user_id=user_id, trace_id=trace_id)

    async def aget_context(
        self, user_id: str | None, *, agent_name: str | None = None, thread_id: str | None = None
    ) -> str:
        return self.get_context(user_id, agent_name=agent_name, thread_id=thread_id)

    async def asearch(
        self,
        query: str,
        top_k: int = 5,
        *,
        user_id: str | None = None,
        agent_name: str | None = None,
        category: str | None = None,
    ) -> list[dict[str, Any]]:
        return self.search(query, top_k, user_id=user_id, agent_name=agent_name, category=category)

    def close(self) -> None:
        return None

    def _unsupported(self, operation: str) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} has no {operation}")
