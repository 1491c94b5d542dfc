"""Honcho without what it is deleting and still tells."""

from __future__ import annotations

import logging
from collections.abc import Collection

from honcho_memory.application.clear_marks import ClearMarks
from honcho_memory.application.paging import all_items
from honcho_memory.domain.errors import OutboxError
from honcho_memory.domain.messages import Conclusion, StoredMessage
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.management import SessionPage

logger = logging.getLogger("honcho_memory")


class VeiledReads:
    """`MemoryReads` in which a memory is empty from the moment that it is cleared.

    Honcho deletes in the background and answers from what it deletes until that is done.
    """

    def __init__(self, honcho: Honcho, marks: ClearMarks, clock: Clock) -> None:
        self._honcho = honcho
        self._marks = marks
        self._clock = clock

    def representation(
        self,
        workspace: str,
        peer: str,
        *,
        max_conclusions: int,
        query: str | None = None,
        timeout: float,
    ) -> str:
        """See `MemoryReads.representation`."""
        deadline = self._clock.monotonic() + timeout
        if self._is_deleting(workspace, peer, timeout):
            return ""
        return self._honcho.representation(
            workspace,
            peer,
            max_conclusions=max_conclusions,
            query=query,
            timeout=max(0.0, deadline - self._clock.monotonic()),
        )

    def peer_card(self, workspace: str, peer: str, *, timeout: float) -> tuple[str, ...]:
        """See `MemoryReads.peer_card`; a card is erased at once."""
        return self._honcho.peer_card(workspace, peer, timeout=timeout)

    def search_messages(
        self,
        workspace: str,
        query: str,
        *,
        limit: int,
        author: str | None = None,
        timeout: float,
    ) -> tuple[StoredMessage, ...]:
        """See `MemoryReads.search_messages`."""
        found = self._honcho.search_messages(
            workspace, query, limit=limit, author=author, timeout=timeout
        )
        since = self._deleting(workspace)
        return tuple(
            message
            for message in found
            if message.created_at.timestamp() > since.get(message.session, float("-inf"))
        )

    def query_conclusions(
        self,
        workspace: str,
        peer: str,
        query: str,
        *,
        limit: int,
        ids: Collection[str] | None = None,
        timeout: float,
    ) -> tuple[Conclusion, ...]:
        """See `MemoryReads.query_conclusions`."""
        found = self._honcho.query_conclusions(
            workspace, peer, query, limit=limit, ids=ids, timeout=timeout
        )
        since = self._deleting(workspace)
        return tuple(
            conclusion
            for conclusion in found
            if conclusion.created_at.timestamp()
            > since.get(conclusion.session or "", float("-inf"))
        )

    def _deleting(self, workspace: str) -> dict[str, float]:
        try:
            return self._marks.deleting_for_anybody(workspace)
        except OutboxError as error:
            logger.debug("it is not known what is being deleted: %s", error)
            return {}

    def _is_deleting(self, workspace: str, peer: str, timeout: float) -> bool:
        """Whether Honcho still lists a session of the peer that it deletes."""
        try:
            left = self._marks.deleting(workspace, peer).keys()
            if not left:
                return False
            listed = self._listed(workspace, peer, timeout)
            self._marks.note_deleted(workspace, left - listed)
        except OutboxError as error:
            logger.debug("it is not known what is being deleted: %s", error)
            return False
        return not left.isdisjoint(listed)

    def _listed(self, workspace: str, peer: str, timeout: float) -> set[str]:
        deadline = self._clock.monotonic() + timeout

        def read(page: int) -> SessionPage:
            left = max(0.0, deadline - self._clock.monotonic())
            return self._honcho.peer_sessions(workspace, peer, page=page, timeout=left)

        return set(all_items(read))
