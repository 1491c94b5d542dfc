"""What goes wrong on the way to Honcho and back -> the errors of this library."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx

from honcho_memory.adapters.honcho_http import wire
from honcho_memory.adapters.honcho_http.deadline import DeadlinePassed
from honcho_memory.adapters.honcho_http.exchange import MAX_BODY_BYTES, Answer, BodyTooLarge
from honcho_memory.domain.errors import (
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnauthorized,
    HonchoUnavailable,
)

TRANSPORT_ERRORS = (DeadlinePassed, BodyTooLarge, httpx.HTTPError, httpx.InvalidURL, OSError)
"""All that can come out of an exchange."""

_LONGEST_REASON = 300
_LONGEST_RETRY_AFTER = 86_400.0
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.InvalidURL,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_CERTAINLY_NOT_DONE = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.SERVICE_UNAVAILABLE,
    }
)
"""Any other 5xx is a gateway speaking: the server behind it may be at work."""


def of_transport(exc: Exception, *, server: str, name: str, timeout: float) -> HonchoRequestError:
    """The error for an exchange that did not come to its end.

    Args:
        exc: One of `TRANSPORT_ERRORS`.
        server: The address, for the operator.
        name: What was asked.
        timeout: How long it might have taken.
    """
    if isinstance(exc, BodyTooLarge):
        return not_a_honcho(server, f"{name}: the answer exceeds {MAX_BODY_BYTES} bytes")
    if isinstance(exc, httpx.DecodingError):
        return not_a_honcho(server, f"{name}: the answer cannot be decompressed")
    if isinstance(exc, DeadlinePassed | httpx.TimeoutException):
        what = f"did not answer within {timeout:.3g} s"
        if isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout):
            what = "could not be connected to in time"
    else:
        what = f"could not be reached ({_cut(str(exc)) or type(exc).__name__})"
    sent = exc.sent if isinstance(exc, DeadlinePassed) else not isinstance(exc, _NEVER_SENT)
    return HonchoUnavailable(f"{name}: Honcho at {server} {what}", outcome_unknown=sent)


def of_answer(answer: Answer, *, server: str, name: str, now: float) -> HonchoRequestError | None:
    """The error that an answer means; None for a success.

    Args:
        answer: As it came.
        server: The address, for the operator.
        name: What was asked.
        now: The wall clock, which a Retry-After with a date is measured by.
    """
    status = answer.status
    if 200 <= status < 300:  # noqa: PLR2004 - HTTP's successes
        return None
    if status == HTTPStatus.TOO_MANY_REQUESTS or 500 <= status < 600:  # noqa: PLR2004
        return HonchoUnavailable(
            f"{name}: Honcho at {server} answered {status}",
            status=status,
            retry_after=_retry_after(answer.headers, now),
            outcome_unknown=status not in _CERTAINLY_NOT_DONE,
        )
    if not 400 <= status < 500:  # noqa: PLR2004
        return not_a_honcho(server, f"{name}: it answered {status}{_target(answer)}", status)
    return _of_refusal(answer, server, name)


def _of_refusal(answer: Answer, server: str, name: str) -> HonchoRequestError:
    status, refusal = answer.status, wire.Refusal.read(answer.body)
    message, said = f"{name}: Honcho at {server} answered {status}", _cut(refusal.reason)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return HonchoUnauthorized(message, status=status, said=said)
    if status == HTTPStatus.NOT_FOUND:
        if refusal.says_not_found:
            return HonchoNotFound(message, status=status, said=said)
        return not_a_honcho(server, f"{name}: it does not know the address", status)
    refused = {index: _cut(why) for index, why in sorted(refusal.items.items())}
    return HonchoRejected(message, status=status, said=said, refused=refused)


def not_a_honcho(server: str, why: str, status: int | None = None) -> HonchoProtocolError:
    """The error for an answer that no Honcho v3 gives."""
    return HonchoProtocolError(
        f"{server} is not a Honcho v3 server, or something in between answers in its place "
        f"({why}); check base_url",
        status=status,
    )


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdecimal():
        seconds = float(value)
    else:
        when = http_date(value)
        if when is None:
            return None
        seconds = when.timestamp() - now
    return min(max(seconds, 0.0), _LONGEST_RETRY_AFTER)


def http_date(value: str) -> datetime | None:
    """A date as HTTP headers have it, with an offset; None for what is none."""
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _target(answer: Answer) -> str:
    """Where a redirect leads: the host alone, as the rest may name people."""
    try:
        host = httpx.URL(answer.headers.get("Location", "")).host
    except httpx.InvalidURL:
        host = ""
    return f", a redirect to {_cut(host)}" if host else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"
