"""Profiles: read, and overwritten as a whole."""

from __future__ import annotations

from honcho_memory.application.fact_store import changing
from honcho_memory.application.recalling import Recalling
from honcho_memory.application.requests import Requests
from honcho_memory.domain.identity import User
from honcho_memory.domain.profile import Profile, read_card, to_card
from honcho_memory.ports.honcho import MemoryReads
from honcho_memory.ports.management import MemoryManagement


class Profiles:
    """Users' profiles, kept as their peer cards.

    Every method may raise `HonchoRequestError`: Honcho could not be asked.

    Args:
        reads: Where they are read.
        management: Where they are written.
        requests: The way there.
        recalling: Forgets what it keeps of a user whose profile changes.
        timeout: Of one request, in seconds.
    """

    def __init__(
        self,
        reads: MemoryReads,
        management: MemoryManagement,
        requests: Requests,
        recalling: Recalling,
        *,
        timeout: float,
    ) -> None:
        self._reads = reads
        self._management = management
        self._requests = requests
        self._recalling = recalling
        self._timeout = timeout

    def read(self, user: User) -> Profile:
        """A user's profile; an empty one for a user of whom nothing is known."""
        card = self._requests.run(
            lambda timeout: self._reads.peer_card(user.workspace, user.peer, timeout=timeout),
            timeout=self._timeout,
        )
        return read_card(card)

    def overwrite(self, user: User, profile: Profile) -> Profile:
        """Put a profile in the place of the one there is; returns it as it is read from now on.

        Raises:
            InvalidProfile: It cannot be kept; the earlier one is left as it is.
        """
        card = to_card(profile)
        with changing(user):
            try:
                self._requests.run(
                    lambda timeout: self._management.put_peer_card(
                        user.workspace, user.peer, card, timeout=timeout
                    ),
                    timeout=self._timeout,
                )
            finally:
                self._recalling.forget(user)
        return read_card(card)
