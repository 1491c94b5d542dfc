"""Routes whose every error is a problem document: a router cannot install exception handlers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from honcho_memory.adapters.http_api.problems import problem_of, reason
from honcho_memory.domain.errors import HonchoMemoryError, HonchoUnavailable

logger = logging.getLogger("honcho_memory")


class ProblemRoute(APIRoute):
    """Answers with a problem where its endpoint, or what that depends on, raises.

    What is the host's to answer passes: a redirection, and errors that the host has a handler of
    its own for.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What FastAPI calls with each request."""
        handle = super().get_route_handler()

        async def handle_or_explain(request: Request) -> Response:
            try:
                response = await handle(request)
            except Exception as error:
                if _is_the_hosts(error, request):
                    raise
                response = self._explain(error)
            # It is what is known of one person, and another may come by on the same machine.
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return handle_or_explain

    def _explain(self, error: Exception) -> Response:
        problem = problem_of(error)
        if isinstance(error, HonchoUnavailable):
            logger.debug("%s: %s", self.name, error)  # the outage is in the log, once
        elif problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            logger.warning(
                "%s could not be answered: %s",
                self.name,
                reason(error),
                extra={"operation": self.name, "error_type": type(error).__name__},
            )
        return problem.answer()


def _is_the_hosts(error: Exception, request: Request) -> bool:
    if isinstance(error, HTTPException):
        return error.status_code < HTTPStatus.BAD_REQUEST
    if isinstance(error, HonchoMemoryError | RequestValidationError):
        return False
    kinds = [kind for kind in type(error).__mro__ if kind not in {Exception, BaseException}]
    return any(kind in request.app.exception_handlers for kind in kinds)
