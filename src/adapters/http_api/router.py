"""The router, put together."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn, cast

from fastapi import APIRouter, Depends, HTTPException
from fastapi.routing import APIRoute

from honcho_memory.adapters.http_api import documents, facts, profiles, searching
from honcho_memory.adapters.http_api.answers import Health
from honcho_memory.adapters.http_api.caller import Served, identifying
from honcho_memory.adapters.http_api.described import only_problems
from honcho_memory.adapters.http_api.problem_route import ProblemRoute
from honcho_memory.domain.errors import ConfigurationError, HonchoUnavailable
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.host import Memory

SUMMARY_CHARS = 6_000
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})

_OF_A_USER = (documents.router, facts.router, profiles.router, searching.router)
_PREFIX = re.compile(r"(/[^/]+)+")


def memory_router(
    memory: Memory,
    *,
    user_id: Callable[..., object] | None = None,
    prefix: str = "/memory",
    summary_chars: int = SUMMARY_CHARS,
    clock: Clock = time,
) -> APIRouter:
    """The memory of whoever asks, behind HTTP: a router for a host's FastAPI application.

        app.include_router(memory_router(memory, user_id=current_user_id), prefix="/api")

    Every error of its routes is a problem document, RFC 9457. It makes requests in FastAPI's
    thread pool, and neither warms nor closes the memory.

    Args:
        memory: The memory; a view of it that is read only answers 403 to what would change it.
        user_id: A FastAPI dependency of the host's, sync or async, that says who asks: their
            user id, or None for nobody, who is answered 401. It may raise `HTTPException`.
        prefix: What the paths begin with.
        summary_chars: The most characters of a summary in the document.
        clock: Dates a document without facts.

    Raises:
        ConfigurationError: There is no `user_id`, or it or the prefix is none; whoever it is
            must be known, since each user has a memory of their own.
    """
    if not callable(user_id):
        raise ConfigurationError(
            "memory_router needs user_id=: a FastAPI dependency (a function, not its Depends) "
            "that returns the id of the user who asks, and None for nobody"
        )
    if not _PREFIX.fullmatch(prefix):
        raise ConfigurationError(f"prefix must be like '/memory', got {prefix!r}")
    served = Served(memory, clock, summary_chars)
    identify = Depends(identifying(served, user_id))
    health = _health_router(memory)
    router = APIRouter(tags=["memory"], generate_unique_id_function=_naming(prefix))
    router.include_router(health, prefix=prefix)
    for part in _OF_A_USER:
        router.include_router(part, prefix=prefix, dependencies=[identify])
    router.include_router(_refusing_router((health, *_OF_A_USER)), prefix=prefix)
    return router


def _health_router(memory: Memory) -> APIRouter:
    router = APIRouter(route_class=ProblemRoute)

    @router.get("/health", summary="Ask after the memory", responses=only_problems(500, 503))
    def check_health() -> Health:
        """Whether Honcho can be used, as far as is known. Needs no user."""
        if not memory.is_usable():
            raise HonchoUnavailable("Honcho cannot be used")
        return Health()

    return router


def _refusing_router(routers: Sequence[APIRouter]) -> APIRouter:
    """What answers to all other methods: FastAPI names those of a single route in `Allow`."""
    allowed: dict[str, set[str]] = {}
    for router in routers:
        for route in cast("list[APIRoute]", router.routes):
            allowed.setdefault(route.path, set()).update(route.methods or ())
    refusing = APIRouter(route_class=ProblemRoute)
    for path, methods in allowed.items():
        refusing.add_api_route(
            path,
            _refuse(", ".join(sorted(methods))),
            methods=sorted(METHODS - methods),
            response_model=None,
            include_in_schema=False,
        )
    return refusing


def _refuse(allowed: str) -> Callable[[], Awaitable[NoReturn]]:
    async def refuse() -> NoReturn:
        raise HTTPException(405, headers={"Allow": allowed})

    return refuse


def _naming(prefix: str) -> Callable[[APIRoute], str]:
    """Operation ids that stay apart where two memories are in one application."""
    before = re.sub(r"\W+", "_", prefix.strip("/"))
    return lambda route: f"{before}_{route.name}"
