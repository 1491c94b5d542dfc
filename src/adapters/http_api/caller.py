"""Whose request it is, and the memory that it is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Request

from honcho_memory.domain.document import to_mapping
from honcho_memory.domain.errors import NoUser
from honcho_memory.domain.results import Document
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.host import Memory

_IN_STATE = "honcho_memory_caller"


@dataclass(frozen=True, slots=True)
class Served:
    """What a router serves.

    Attributes:
        memory: The memory.
        clock: Dates a document without facts.
        budget: The most characters of a summary.
    """

    memory: Memory
    clock: Clock
    budget: int

    def mapping(self, document: Document) -> dict[str, Any]:
        """A document in DeerFlow's shape."""
        now = datetime.fromtimestamp(self.clock.time(), UTC)
        return to_mapping(document, now, budget=self.budget)


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks.

    Attributes:
        user_id: Who.
        served: What they may ask for.
    """

    user_id: str
    served: Served

    @property
    def memory(self) -> Memory:
        """The memory, of all users."""
        return self.served.memory


def identifying(served: Served, user_id: Callable[..., object]) -> Callable[..., Awaitable[None]]:
    """A dependency that finds out who asks, and lets nobody else pass.

    Args:
        served: What they may ask for.
        user_id: The host's dependency that says who it is.
    """
    depends = Depends(user_id)

    async def identify(request: Request, who: Any = depends) -> None:
        if not who:
            raise NoUser("nobody is signed in")
        if not isinstance(who, str):
            raise TypeError("a user id is a string")
        setattr(request.state, _IN_STATE, Caller(who, served))

    return identify


async def _identified(request: Request) -> Caller:
    caller: Caller | None = getattr(request.state, _IN_STATE, None)
    if caller is None:
        # FastAPI goes on where the host's dependency lacks something, such as a header.
        raise NoUser("nobody is signed in")
    return caller


TheCaller = Annotated[Caller, Depends(_identified)]
