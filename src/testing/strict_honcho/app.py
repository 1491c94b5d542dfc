"""The strict server's FastAPI application: authentication, and errors in Honcho's shapes."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from starlette.types import ExceptionHandler

from honcho_memory.testing.strict_honcho import routes
from honcho_memory.testing.strict_honcho.filters import FilterError
from honcho_memory.testing.strict_honcho.storage import Conflict, Invalid, NotFound, Storage

_STATUS: dict[type[Exception], int] = {
    NotFound: 404,
    Conflict: 409,
    Invalid: 422,
    FilterError: 422,
}


def create_app(storage: Storage, tokens: Mapping[str, str | None] | None = None) -> FastAPI:
    """Make the application.

    Args:
        storage: What it serves.
        tokens: The accepted tokens with the workspace that each is for, None for all; without
            this argument nobody has to authenticate.
    """
    app = FastAPI(title="strict Honcho v3")
    app.state.storage = storage
    app.state.tokens = tokens
    app.include_router(routes.router, dependencies=[Depends(_authenticate)])
    app.add_api_route("/health", _health, methods=["GET"])
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _answering(status))
    app.add_exception_handler(Exception, _unexpected)
    return app


async def _health() -> dict[str, str]:
    return {"status": "ok"}


async def _authenticate(request: Request) -> None:
    tokens: Mapping[str, str | None] | None = request.app.state.tokens
    if tokens is None:
        return
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise HTTPException(401, "No access token provided")
    if token not in tokens:
        raise HTTPException(401, "Invalid JWT")
    if tokens[token] not in {None, request.path_params.get("workspace")}:
        raise HTTPException(401, "Unauthorized access to resource")


def _answering(status: int) -> ExceptionHandler:
    async def handler(_request: Request, exc: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(exc)}, status)

    return handler


async def _unexpected(_request: Request, _exc: Exception) -> JSONResponse:
    return JSONResponse({"detail": "An unexpected error occurred"}, 500)
