"""A memory that says how it is used."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager

from opentelemetry.trace import Span

from honcho_memory.adapters.otel.signals import HITS, OUTCOME, Signals, mark_failed
from honcho_memory.adapters.otel.totals import Counts
from honcho_memory.application.memory import HonchoMemory, Parts
from honcho_memory.domain.results import Found, Outcome, Recall


class ObservedMemory(HonchoMemory):
    """`HonchoMemory`, with recalls and searches traced, and messages counted.

    It is one rather than having one, so that whoever opens a memory gets the same type, with all
    that it offers, observed or not.

    Args:
        parts: What it is made of.
        signals: Where it says so.
        place: Where its messages wait.

    Attributes:
        place: See `Counting`.
    """

    def __init__(self, parts: Parts, signals: Signals, place: Hashable) -> None:
        super().__init__(parts)
        self._signals = signals
        self.place = place
        signals.totals.add(self)

    def recall(self, user_id: str | None, *, query: str | None = None) -> Recall:
        """What is known of a user; see `Memory.recall`."""
        outcome = Outcome.FAILED
        try:
            with self._span("recall", user_id) as span:
                recall = super().recall(user_id, query=query)
                outcome = recall.outcome
                if outcome is Outcome.FAILED and recall.error:
                    mark_failed(span, recall.error)
                return recall
        finally:
            self._signals.recalls.add(1, {OUTCOME: outcome.value})

    def search(
        self,
        query: str,
        *,
        user_id: str | None,
        top_k: int = 5,
        category: str | None = None,
    ) -> Found:
        """Facts and messages near a text; see `Memory.search`."""
        with self._span("search", user_id) as span:
            found = super().search(query, user_id=user_id, top_k=top_k, category=category)
            span.set_attribute(HITS, len(found))
            if found.error:
                mark_failed(span, found.error)
            return found

    def counts(self) -> Counts:
        """See `Counting.counts`."""
        return Counts(self._accepted, self._parts.arrivals.count, self._refused)

    def close(self) -> None:
        """Stop in bounded time; see `Memory.close`."""
        try:
            super().close()
        finally:
            self._signals.totals.remove(self)

    def _span(self, name: str, user_id: object) -> AbstractContextManager[Span]:
        user = self._identities.user(user_id) if isinstance(user_id, str) else None
        return self._signals.span(name, user.workspace if user else None)
