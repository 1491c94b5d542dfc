"""What the OpenAPI document says of answers that are not the expected one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from honcho_memory.adapters.http_api.problems import MEDIA_TYPE

Responses = dict[int | str, dict[str, Any]]

_ERROR: Final[dict[str, Any]] = {
    "title": "ProblemError",
    "type": "object",
    "description": "One thing that is wrong with the request.",
    "required": ["detail"],
    "properties": {
        "detail": {"type": "string", "description": "What is wrong."},
        "pointer": {
            "type": "string",
            "description": "Where in the body: a JSON pointer, as the fragment of a URI.",
            "examples": ["#/confidence"],
        },
        "parameter": {
            "type": "string",
            "description": "Which parameter of path, query or header.",
            "examples": ["top_k"],
        },
    },
}
# Written out where it is used: FastAPI shows models only under the media type of a success.
_PROBLEM: Final[dict[str, Any]] = {
    "title": "Problem",
    "type": "object",
    "description": "Why a request was not carried out; RFC 9457.",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {
            "type": "string",
            "format": "uri",
            "description": "The kind of the problem; `about:blank` when the status says it all.",
            "examples": ["urn:honcho-memory:duplicate-fact"],
        },
        "title": {"type": "string", "description": "What the status means."},
        "status": {"type": "integer", "description": "The status of the answer."},
        "detail": {"type": "string", "description": "What is wrong, for a person."},
        "errors": {"type": "array", "items": _ERROR},
    },
}
_RETRY_AFTER: Final[dict[str, Any]] = {
    "description": "After so many seconds it may be tried again.",
    "required": True,
    "schema": {"type": "integer", "minimum": 1},
}
_MEANINGS: Final[dict[int | str, str]] = {
    400: "The body cannot be read.",
    401: "Nobody is signed in.",
    403: "The memory can only be read.",
    404: "The user has no such fact.",
    409: "Another fact says the same, upper and lower case aside.",
    422: "The request is not as it must be; `errors` says where.",
    500: "Something failed unexpectedly; the log says what.",
    502: "Honcho refused, or it is not a Honcho that answered.",
    503: "Honcho cannot be reached now.",
    "default": "What the host has to say, about who asks for example.",
}
_OF_EVERY_ONE: Final = (401, 500, 502, 503, "default")

UNAVAILABLE: Final = "Memory-Unavailable"
"""The header of an empty answer to a read that failed; see `failure_policy.read`."""
FALLIBLE: Final[Responses] = {
    200: {
        "headers": {
            UNAVAILABLE: {
                "description": "`true` when Honcho could not be asked, and this is empty "
                "for that reason alone.",
                "schema": {"type": "string", "enum": ["true"]},
            }
        }
    }
}
CREATED: Final[Responses] = {
    201: {
        "headers": {
            "Location": {
                "description": "Where the fact is, relative to this address.",
                "required": True,
                "schema": {"type": "string", "format": "uri-reference"},
            }
        }
    }
}


def problems(*statuses: int) -> Responses:
    """The problems that a request on somebody's behalf may come to.

    Args:
        statuses: Those that not every request may come to.
    """
    return only_problems(*statuses, *_OF_EVERY_ONE)


def only_problems(*statuses: int | str) -> Responses:
    """The problems of these statuses."""
    return {status: _described(status) for status in statuses}


def _described(status: int | str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": _MEANINGS[status],
        "content": {MEDIA_TYPE: {"schema": _PROBLEM}},
    }
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        described["headers"] = {"Retry-After": _RETRY_AFTER}
    return described
