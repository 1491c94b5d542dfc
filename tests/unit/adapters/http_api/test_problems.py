"""Every error of a route is a problem document that gives nothing away."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated, NoReturn

import httpx
import pytest
from fastapi import Depends, FastAPI, Header, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse
from http_host import app_with, client_of, problem

from honcho_memory import (
    HonchoMemory,
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoUnauthorized,
    HonchoUnavailable,
)
from honcho_memory.adapters.http_api import memory_router
from honcho_memory.adapters.http_api.problems import problem_of, reason
from honcho_memory.adapters.in_memory import InMemoryHoncho

SECRET = "at http://internal with key sk-123"
REFUSALS = [HonchoRejected, HonchoUnauthorized, HonchoNotFound, HonchoProtocolError]


def raising(error: Exception) -> Callable[[], NoReturn]:
    """A host's dependency that does not come to an answer."""

    def dependency() -> NoReturn:
        raise error

    return dependency


async def asked(memory: HonchoMemory, user_id: Callable[..., object]) -> httpx.Response:
    """What the facts come to where the host's dependency is such a one."""
    async with client_of(app_with(memory_router(memory, user_id=user_id))) as client:
        return await client.get("/memory/facts")


@pytest.mark.parametrize("error", [kind(SECRET, status=400) for kind in REFUSALS])
async def test_a_refusal_is_between_the_servers(
    client: httpx.AsyncClient,
    honcho: InMemoryHoncho,
    error: Exception,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever asked has done nothing wrong; the operator reads what was."""
    honcho.faults.fail(error)

    answer = await client.get("/memory/facts")

    assert "urn:honcho-memory:refused" == problem(answer, 502)["type"]
    assert "internal" not in answer.text
    assert SECRET in caplog.text


async def test_what_nobody_expected_says_nothing(
    client: httpx.AsyncClient, honcho: InMemoryHoncho, caplog: pytest.LogCaptureFixture
) -> None:
    """Its text may be what a user said; the log has its kind and its place."""
    honcho.faults.fail(LookupError("she said: I am ill"))

    answer = await client.get("/memory/facts")

    expected = {"type": "about:blank", "title": "Internal Server Error", "status": 500}
    assert expected == problem(answer, 500)
    assert "ill" not in caplog.text
    assert "list_facts could not be answered: LookupError in" in caplog.text


async def test_the_hosts_refusal_is_passed_on(memory: HonchoMemory) -> None:
    """With its headers, and its text where it is one."""
    headers = {"WWW-Authenticate": "Bearer"}
    answer = await asked(memory, raising(HTTPException(401, "the token is old", headers)))
    odd = await asked(memory, raising(HTTPException(499, {"code": 7})))

    assert "the token is old" == problem(answer, 401)["detail"]
    assert "Bearer" == answer.headers["www-authenticate"]
    assert {"type": "about:blank", "title": "Error", "status": 499} == problem(odd, 499)


async def test_the_hosts_redirection_is_none(memory: HonchoMemory) -> None:
    """It is the host's way to a login page, not an error."""
    to_login = HTTPException(303, headers={"Location": "/login"})

    answer = await asked(memory, raising(to_login))

    assert (303, "/login") == (answer.status_code, answer.headers["location"])


class NotPaidError(Exception):
    """A host's own."""


class NotPaidThisMonthError(NotPaidError):
    """One kind of it."""


async def answer_to_not_paid(request: Request, error: Exception) -> Response:
    """The host's handler."""
    return PlainTextResponse("pay first", 402)


async def test_the_hosts_own_errors_are_the_hosts(memory: HonchoMemory) -> None:
    """It has a handler for them; without one they are unexpected."""
    user_id = raising(NotPaidThisMonthError("secret"))
    app: FastAPI = app_with(memory_router(memory, user_id=user_id))
    app.add_exception_handler(NotPaidError, answer_to_not_paid)

    async with client_of(app) as client:
        answer = await client.get("/memory/facts")

    assert (402, "pay first") == (answer.status_code, answer.text)
    problem(await asked(memory, user_id), 500)


async def test_what_the_hosts_dependency_lacks_is_somebody(memory: HonchoMemory) -> None:
    """FastAPI would go on to the endpoint's other dependencies; nobody is let through."""

    def token(authorization: Annotated[str, Header()]) -> str:
        return authorization

    def user_id(token: Annotated[str, Depends(token)]) -> str:
        return token

    problem(await asked(memory, user_id), 401)


@pytest.mark.parametrize("who", [7, b"ada", ["ada"]])
async def test_a_user_id_is_a_string(memory: HonchoMemory, who: object) -> None:
    """What the host gets wrong is not the caller's fault."""
    problem(await asked(memory, lambda: who), 500)


async def test_an_outage_is_in_the_log_once(
    client: httpx.AsyncClient, honcho: InMemoryHoncho, caplog: pytest.LogCaptureFixture
) -> None:
    """Not with each request that came in the meantime."""
    honcho.faults.fail(HonchoUnavailable("Honcho is down", status=503), times=None)

    for _ in range(3):
        problem(await client.get("/memory/facts"), 503)

    honcho.faults.clear()
    assert 1 == len([each for each in caplog.records if each.levelno >= logging.WARNING])


def test_an_error_that_was_never_raised_has_no_place() -> None:
    """It has a kind."""
    assert "KeyError" == reason(KeyError("what users said"))
    assert 500 == problem_of(KeyError("what users said")).status
