"""Search: facts and messages near a text."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from honcho_memory.application.fact_store import FactStore, Left
from honcho_memory.application.recalling import clean_query
from honcho_memory.application.requests import Pending, Requests
from honcho_memory.domain.errors import HonchoNotFound
from honcho_memory.domain.facts import DEFAULT_CATEGORY
from honcho_memory.domain.identity import User
from honcho_memory.domain.messages import StoredMessage
from honcho_memory.domain.results import Fact, Found, SaidMessage
from honcho_memory.ports.honcho import MemoryReads

MOST_HITS = 100
"""Honcho gives no more in one answer."""
MESSAGES = "memory"
"""The category of every message."""


class Searching:
    """Searches what Honcho concluded about a user and what was said.

    Args:
        honcho: Where.
        requests: The way there.
        store: Knows facts by their conclusions.
        deadline: The total time of a search, in seconds.
        only_user: Whether messages are only the user's own; otherwise those of the whole
            workspace, which is everybody's where one is shared.
    """

    def __init__(
        self,
        honcho: MemoryReads,
        requests: Requests,
        store: FactStore,
        *,
        deadline: float,
        only_user: bool,
    ) -> None:
        self._honcho = honcho
        self._requests = requests
        self._store = store
        self._deadline = deadline
        self._only_user = only_user

    def search(self, user: User, query: str, *, top_k: int, category: str | None = None) -> Found:
        """Facts, then messages; at most half are facts, unless there are too few messages.

        Args:
            user: Whose memory.
            query: Nothing is found for an empty one.
            top_k: How many at most; more than `MOST_HITS` counts as that.
            category: Only of this one.

        Raises:
            HonchoRequestError: Honcho could not be asked.
        """
        query, limit = clean_query(query), min(top_k, MOST_HITS)
        if not query or limit <= 0:
            return Found(is_asked=False)
        left = self._requests.until(self._deadline)
        asks_messages = category in (None, MESSAGES)
        messages = self._start_messages(user, query, limit) if asks_messages else None
        if category is None:
            facts = self._facts(user, query, limit, left, beside=messages)
        elif category == DEFAULT_CATEGORY:
            facts = self._facts_of_no_category(user, query, limit, left)
        else:
            facts = self._facts_of(user, query, limit, category, left)
        return Found(_shared_out(facts, _messages(messages), limit))

    def _facts(
        self,
        user: User,
        query: str,
        limit: int,
        left: Left,
        *,
        ids: Collection[str] | None = None,
        beside: Pending[Any] | None = None,
    ) -> tuple[Fact, ...]:
        pending = self._requests.start(
            lambda timeout: self._honcho.query_conclusions(
                user.workspace, user.peer, query, limit=limit, ids=ids, timeout=timeout
            ),
            timeout=left(),
            beside=beside,
        )
        ledger = self._store.start_ledger(user, left(), beside=pending)
        try:
            conclusions = pending.result()
        except HonchoNotFound:
            return ()  # nobody has said anything yet
        if not conclusions:
            return ()
        known = self._store.ledger(user, left) if ledger is None else ledger.result()
        return self._store.stated_in(known, conclusions)

    def _facts_of_no_category(
        self, user: User, query: str, limit: int, left: Left
    ) -> tuple[Fact, ...]:
        """Of the nearest those that fit: most facts do, and Honcho cannot exclude the others."""
        nearest = self._facts(user, query, MOST_HITS, left)
        fitting = tuple(fact for fact in nearest if fact.category == DEFAULT_CATEGORY)
        if len(nearest) < MOST_HITS or len(fitting) >= limit:
            return fitting
        ledger = self._store.ledger(user, left)
        conclusions = self._store.conclusions(user, user.peer, left)
        ids = {each.id for each in conclusions} - ledger.conclusions_but(DEFAULT_CATEGORY)
        return self._facts(user, query, limit, left, ids=ids) if ids else ()

    def _facts_of(
        self, user: User, query: str, limit: int, category: str, left: Left
    ) -> tuple[Fact, ...]:
        if not self._store.exists(user, left):
            return ()
        ids = self._store.ledger(user, left).conclusions_of(category)
        return self._facts(user, query, limit, left, ids=ids) if ids else ()

    def _start_messages(
        self, user: User, query: str, limit: int
    ) -> Pending[tuple[StoredMessage, ...]]:
        author = user.peer if self._only_user else None
        return self._requests.start(
            lambda timeout: self._honcho.search_messages(
                user.workspace, query, limit=limit, author=author, timeout=timeout
            ),
            timeout=self._deadline,
        )


def _messages(
    pending: Pending[tuple[StoredMessage, ...]] | None,
) -> tuple[SaidMessage, ...]:
    if pending is None:
        return ()
    return tuple(
        SaidMessage(
            message.id, message.content, message.session, message.author, message.created_at
        )
        for message in pending.result()
    )


def _shared_out(
    facts: tuple[Fact, ...], messages: tuple[SaidMessage, ...], limit: int
) -> tuple[Fact | SaidMessage, ...]:
    """At most half, rounded up, are facts; what one side lacks the other fills up."""
    wanted = max((limit + 1) // 2, limit - len(messages))
    chosen = facts[:wanted]
    return (*chosen, *messages[: limit - len(chosen)])
