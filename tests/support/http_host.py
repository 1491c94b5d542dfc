"""A host that serves a memory over HTTP, and somebody who asks it."""

from __future__ import annotations

from typing import Annotated, Any

import httpx
from fastapi import APIRouter, FastAPI, Header

PROBLEM = "application/problem+json"


def current_user(user: Annotated[str | None, Header()] = None) -> str | None:
    """Who asks; a real host would not take their word for it."""
    return user


def app_with(*routers: APIRouter) -> FastAPI:
    """A host's application."""
    app = FastAPI()
    for router in routers:
        app.include_router(router)
    return app


def client_of(app: FastAPI) -> httpx.AsyncClient:
    """Somebody who asks an application, as Ada unless they say otherwise."""
    # What an application does not answer is for its server to answer, and is no exception here.
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://host", headers={"user": "ada"})


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document that an answer must be."""
    body: dict[str, Any] = response.json()
    assert (status, PROBLEM) == (response.status_code, response.headers["content-type"])
    assert status == body["status"]
    return body
