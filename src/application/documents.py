"""The memory document: all that is known of a user, at once."""

from __future__ import annotations

from honcho_memory.application.fact_store import FactStore, Left
from honcho_memory.application.recalling import Recalling
from honcho_memory.application.requests import Requests
from honcho_memory.domain.identity import User
from honcho_memory.domain.results import Document


class Documents:
    """Reads documents.

    Args:
        store: Where facts are.
        recalling: Knows the rest.
        requests: Knows the time.
        deadline: The total time of a read, in seconds.
        timeout: Of one request of an export, in seconds.
    """

    def __init__(
        self,
        store: FactStore,
        recalling: Recalling,
        requests: Requests,
        *,
        deadline: float,
        timeout: float,
    ) -> None:
        self._store = store
        self._recalling = recalling
        self._requests = requests
        self._deadline = deadline
        self._timeout = timeout

    def read(self, user: User) -> Document:
        """All that is known of a user; creates nothing for one of whom nothing is known.

        Raises:
            HonchoRequestError: Honcho could not be asked, or not in time.
        """
        return self._read(user, self._requests.until(self._deadline))

    def read_again(self, user: User) -> Document:
        """The same, without what is kept of earlier answers."""
        self._recalling.forget(user)
        return self.read(user)

    def export(self, user: User) -> Document:
        """The same, read anew, and as long as it takes: each request has its own time."""
        self._recalling.forget(user)
        return self._read(user, lambda: self._timeout)

    def _read(self, user: User, left: Left) -> Document:
        answer = self._recalling.answer(user)
        return Document(answer.representation, answer.card, self._store.facts(user, left))
