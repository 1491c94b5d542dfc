"""Messages that it has become too late to send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

import httpx
import pytest

from honcho_memory.adapters.honcho_http import HttpHoncho, wire
from honcho_memory.domain.errors import HonchoUnavailable
from honcho_memory.domain.messages import Outgoing

Answered = Callable[[Callable[[httpx.Request], httpx.Response]], HttpHoncho]


class MovableClock(Protocol):
    """A clock that a test moves."""

    now: float


def test_messages_are_not_sent_after_their_time(
    answered: Answered, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped while it wrote them down may have lost its right to send them."""
    encode, sent = wire.encode_messages, list[httpx.Request]()

    def encode_and_sleep(messages: Sequence[Outgoing]) -> bytes:
        clock.now += 11
        return encode(messages)

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(201, json=[])

    monkeypatch.setattr(wire, "encode_messages", encode_and_sleep)
    message = Outgoing("key", "ada", "hello", datetime(2026, 3, 1, tzinfo=UTC))

    with pytest.raises(HonchoUnavailable) as caught:
        answered(answer).add_messages("ws", "s", [message], timeout=10)

    assert [] == sent
    assert not caught.value.outcome_unknown
