"""Search: facts and messages near a text."""

from __future__ import annotations

from typing import Any

from honcho_memory.application.recalling import clean_query
from honcho_memory.application.requests import Pending, Requests
from honcho_memory.domain.errors import HonchoNotFound
from honcho_memory.domain.facts import DEFAULT_CATEGORY, fact_of
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.messages import Conclusion, StoredMessage
from honcho_memory.domain.results import Fact, SaidMessage
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
        identities: Reads threads back from sessions.
        deadline: The total time of a search, in seconds.
        only_user: Whether messages are only the user's own; otherwise those of the whole
            workspace, which is everybody's where one is shared.
    """

    def __init__(
        self,
        honcho: MemoryReads,
        requests: Requests,
        identities: Identities,
        *,
        deadline: float,
        only_user: bool,
    ) -> None:
        self._honcho = honcho
        self._requests = requests
        self._identities = identities
        self._deadline = deadline
        self._only_user = only_user

    def search(
        self, user: User, query: str, *, top_k: int, category: str | None = None
    ) -> tuple[Fact | SaidMessage, ...]:
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
            return ()
        asks_messages = category in (None, MESSAGES)
        asks_facts = category in (None, DEFAULT_CATEGORY)
        messages = self._start_messages(user, query, limit) if asks_messages else None
        facts = self._start_facts(user, query, limit, messages) if asks_facts else None
        return _shared_out(self._facts(facts), _messages(messages), limit)

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

    def _start_facts(
        self, user: User, query: str, limit: int, beside: Pending[Any] | None
    ) -> Pending[tuple[Conclusion, ...]]:
        return self._requests.start(
            lambda timeout: self._honcho.query_conclusions(
                user.workspace, user.peer, query, limit=limit, timeout=timeout
            ),
            timeout=self._deadline,
            beside=beside,
        )

    def _facts(self, pending: Pending[tuple[Conclusion, ...]] | None) -> tuple[Fact, ...]:
        if pending is None:
            return ()
        try:
            conclusions = pending.result()
        except HonchoNotFound:
            return ()  # nobody has said anything yet
        return tuple(fact_of(conclusion, self._identities) for conclusion in conclusions)


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
