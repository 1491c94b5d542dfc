"""What is answered when something cannot be done: problem documents, as RFC 9457 has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias, cast
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from honcho_memory.domain.errors import (
    DuplicateFact,
    HonchoMemoryError,
    HonchoRequestError,
    HonchoUnavailable,
    InvalidFact,
    InvalidProfile,
    NoUser,
    OutboxError,
    ReadOnlyMemoryError,
    UnknownFact,
    loggable,
)
from honcho_memory.domain.text import repair

MEDIA_TYPE = "application/problem+json"
NO_MORE_THAN_ITS_STATUS = "about:blank"
RETRY_AFTER = 5
"""Seconds after which to try again, where Honcho did not say so itself."""
MOST_ERRORS = 100
"""In one document; a body may have as many as it likes."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request was not carried out.

    Attributes:
        status: Of the answer.
        detail: For a person; nothing secret, and nothing of what users said.
        kind: The end of its `type`; empty when the status says it all.
        errors: One for each thing that is wrong with the request.
        headers: That the answer has.
    """

    status: int
    detail: str = ""
    kind: str = ""
    errors: Sequence[Mapping[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def answer(self) -> JSONResponse:
        """The document, as it is sent."""
        body: dict[str, object] = {
            "type": f"urn:honcho-memory:{self.kind}" if self.kind else NO_MORE_THAN_ITS_STATUS,
            "title": _title(self.status),
            "status": self.status,
        }
        if self.detail:
            body["detail"] = repair(self.detail)
        if self.errors:
            body["errors"] = list(self.errors)
        return JSONResponse(body, self.status, headers=dict(self.headers), media_type=MEDIA_TYPE)


UNEXPECTED = Problem(500)
"""Without a text: that of a foreign error may hold what users said."""


def problem_of(error: Exception) -> Problem:
    """The problem that an error is to whoever asked."""
    for kind, explain in _EXPLAINED:
        if isinstance(error, kind):
            return explain(error)
    return UNEXPECTED


def _of_request(error: RequestValidationError) -> Problem:
    found = cast("Sequence[Mapping[str, Any]]", error.errors())
    errors = [_wrong(each) for each in found[:MOST_ERRORS]]
    return Problem(422, "the request is not as it must be", "invalid-request", errors)


def _wrong(error: Mapping[str, Any]) -> dict[str, str]:
    """One thing that is wrong; without what was given, which is the user's."""
    place, *path = error["loc"]
    if place == "body":
        # The position of a syntax error is no part of the body.
        parts = [] if error["type"] == "json_invalid" else path
        return {"detail": repair(error["msg"]), "pointer": _pointer(parts)}
    return {"detail": repair(error["msg"]), "parameter": repair(".".join(map(str, path)))}


def _pointer(path: Iterable[object]) -> str:
    """A JSON pointer, as the fragment of a URI."""
    parts = (repair(str(part)).replace("~", "~0").replace("/", "~1") for part in path)
    return "#" + "".join("/" + quote(part, safe="~") for part in parts)


def _of_http(error: HTTPException) -> Problem:
    """The host's word, or FastAPI's on a body that is no JSON at all."""
    detail = cast("object", error.detail)  # FastAPI allows anything
    text = detail if isinstance(detail, str) and detail != _title(error.status_code) else ""
    return Problem(error.status_code, text, headers=error.headers or {})


def _of_invalid_fact(error: InvalidFact) -> Problem:
    path = [error.field] if error.field else []
    wrong = {"detail": repair(str(error)), "pointer": _pointer(path)}
    return Problem(422, str(error), "invalid-fact" if path else "invalid-document", [wrong])


def _of_duplicate_fact(error: DuplicateFact) -> Problem:
    return Problem(409, str(error), "duplicate-fact")


def _of_invalid_profile(error: InvalidProfile) -> Problem:
    return Problem(422, str(error), "invalid-profile")


def _of_unknown_fact(_error: UnknownFact) -> Problem:
    return Problem(404, "the user has no such fact", "unknown-fact")


def _of_nobody(_error: NoUser) -> Problem:
    return Problem(401, "a memory is somebody's, and nobody is signed in", "no-user")


def _of_read_only(error: ReadOnlyMemoryError) -> Problem:
    return Problem(403, str(error), "read-only")


def _of_unavailable(error: HonchoUnavailable) -> Problem:
    detail = "the memory cannot be reached now; try again later"
    if error.outcome_unknown:
        detail += "; what was asked for may have been done all the same"
    return Problem(503, detail, "unavailable", headers=_retry_after(error.retry_after))


def _of_refusal(_error: HonchoRequestError) -> Problem:
    """Its text names the server, which is the operator's business and in the log."""
    return Problem(502, "the memory's server refused, or did not understand", "refused")


def _of_outbox(_error: OutboxError) -> Problem:
    detail = "what waits to be remembered cannot be changed now; try again later"
    return Problem(503, detail, "unavailable", headers=_retry_after(None))


def _retry_after(seconds: float | None) -> dict[str, str]:
    return {"Retry-After": str(math.ceil(seconds) if seconds and seconds > 0 else RETRY_AFTER)}


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


_Explained: TypeAlias = tuple[type[Exception], Callable[[Any], Problem]]
_EXPLAINED: tuple[_Explained, ...] = (
    (RequestValidationError, _of_request),
    (HTTPException, _of_http),
    (DuplicateFact, _of_duplicate_fact),
    (InvalidFact, _of_invalid_fact),
    (InvalidProfile, _of_invalid_profile),
    (UnknownFact, _of_unknown_fact),
    (NoUser, _of_nobody),
    (ReadOnlyMemoryError, _of_read_only),
    (HonchoUnavailable, _of_unavailable),
    (HonchoRequestError, _of_refusal),
    (OutboxError, _of_outbox),
)
"""The first that fits; a subclass comes before its base."""


def reason(error: Exception) -> str:
    """For the log; only the kind of a foreign error, and where it was raised."""
    if isinstance(error, HonchoMemoryError):
        return loggable(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" in {trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno}" if trace else ""
    return type(error).__name__ + where
