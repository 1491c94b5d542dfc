"""A Honcho whose requests are seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from opentelemetry.trace import SpanKind

from honcho_memory.adapters.otel.signals import OPERATION, OUTCOME, Signals
from honcho_memory.domain.errors import (
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoUnauthorized,
    HonchoUnavailable,
)
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import Honcho

P = ParamSpec("P")
R = TypeVar("R")

_OUTCOMES: dict[type[Exception], str] = {
    HonchoNotFound: "not_found",
    HonchoProtocolError: "protocol_error",
    HonchoRejected: "rejected",
    HonchoUnauthorized: "unauthorized",
    HonchoUnavailable: "unavailable",
}


class ObservedHoncho:
    """A Honcho with a span around every request, and its time in a histogram.

    That every method of the port is here, with the same arguments, the type checkers see.

    Args:
        honcho: Carries the requests out.
        signals: Where it is said.
        clock: Its monotonic reading counts.
    """

    def __init__(self, honcho: Honcho, signals: Signals, clock: Clock) -> None:
        self._signals = signals
        self._clock = clock
        self.add_messages = self._observed(honcho.add_messages)
        self.configure_peer = self._observed(honcho.configure_peer)
        self.create_conclusions = self._observed(honcho.create_conclusions)
        self.delete_conclusion = self._observed(honcho.delete_conclusion)
        self.delete_session = self._observed(honcho.delete_session)
        self.delete_workspace = self._observed(honcho.delete_workspace)
        self.find_messages = self._observed(honcho.find_messages)
        self.health = self._observed(honcho.health)
        self.list_conclusions = self._observed(honcho.list_conclusions)
        self.peer_card = self._observed(honcho.peer_card)
        self.peer_metadata = self._observed(honcho.peer_metadata)
        self.peer_sessions = self._observed(honcho.peer_sessions)
        self.put_peer_card = self._observed(honcho.put_peer_card)
        self.put_peer_metadata = self._observed(honcho.put_peer_metadata)
        self.query_conclusions = self._observed(honcho.query_conclusions)
        self.representation = self._observed(honcho.representation)
        self.search_messages = self._observed(honcho.search_messages)
        self.session_peers = self._observed(honcho.session_peers)
        self.close = honcho.close

    def _observed(self, method: Callable[P, R]) -> Callable[P, R]:
        operation = method.__name__

        @wraps(method)
        def observed(*args: P.args, **kwargs: P.kwargs) -> R:
            workspace = kwargs.get("workspace", args[0] if args else None)
            workspace = workspace if isinstance(workspace, str) else None
            outcome = "ok"
            begun = self._clock.monotonic()
            try:
                with self._signals.span(operation, workspace, SpanKind.CLIENT):
                    return method(*args, **kwargs)
            except Exception as error:
                outcome = _OUTCOMES.get(type(error), "error")
                raise
            finally:
                self._signals.duration.record(
                    self._clock.monotonic() - begun, {OPERATION: operation, OUTCOME: outcome}
                )

        return observed
