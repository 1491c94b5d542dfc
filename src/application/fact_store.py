"""A user's conclusions, and the ledger of what their facts have beyond them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from honcho_memory.application.paging import all_items
from honcho_memory.application.requests import Pending, Requests
from honcho_memory.domain.errors import HonchoNotFound
from honcho_memory.domain.facts import Ledger
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.messages import Conclusion
from honcho_memory.domain.results import Fact
from honcho_memory.ports.management import ConclusionPage, MemoryManagement

MOST_PASSES = 3
"""So often a list is read whose pages do not fit together."""
REMEMBERED_USERS = 10_000
BATCH = 100
"""Honcho creates no more conclusions in one request."""

Left = Callable[[], float]
"""Gives the seconds that the next request may take."""


class FactStore:
    """Facts as Honcho keeps them."""

    def __init__(
        self, honcho: MemoryManagement, requests: Requests, identities: Identities
    ) -> None:
        self._honcho = honcho
        self._requests = requests
        self._identities = identities
        self._lock = threading.Lock()
        self._known: OrderedDict[User, None] = OrderedDict()

    def facts(self, user: User, left: Left) -> tuple[Fact, ...]:
        """All facts, newest first; creates nothing for a user of whom nothing is known.

        Raises:
            HonchoRequestError: Honcho could not be asked.
        """
        conclusions = self.conclusions(user, user.peer, left)
        if not conclusions:
            return ()
        return self.stated_in(self.ledger(user, left).mended(conclusions), conclusions)

    def stated_in(self, ledger: Ledger, conclusions: Sequence[Conclusion]) -> tuple[Fact, ...]:
        """The facts that some of a user's own conclusions state."""
        facts = (ledger.fact(conclusion, self._identities) for conclusion in conclusions)
        return tuple(fact for fact in facts if fact is not None)

    def conclusions(self, user: User, observer: str | None, left: Left) -> tuple[Conclusion, ...]:
        """All conclusions about a user, newest first, of one observer or of all."""
        totals: list[int] = []

        def read(page: int) -> ConclusionPage:
            found = self._requests.run(
                lambda timeout: self._honcho.list_conclusions(
                    user.workspace, user.peer, observer=observer, page=page, timeout=timeout
                ),
                timeout=left(),
            )
            totals.append(found.total)
            return found

        found: dict[str, Conclusion] = {}
        for _ in range(MOST_PASSES):
            totals.clear()
            listed = list(all_items(read))
            ids = {conclusion.id for conclusion in listed}
            # What is added or deleted meanwhile moves the rest: a page repeats or skips something.
            if {len(listed)} == {len(ids), *totals}:
                found = {conclusion.id: conclusion for conclusion in listed}
                break
            found |= {conclusion.id: conclusion for conclusion in listed}
        if found:
            self._note_known(user)
        return tuple(sorted(found.values(), key=lambda each: each.created_at, reverse=True))

    def exists(self, user: User, left: Left) -> bool:
        """Whether anything is known of a user, so that asking for the ledger creates nothing."""
        with self._lock:
            if user in self._known:
                return True
        first = self._requests.run(
            lambda timeout: self._honcho.list_conclusions(
                user.workspace, user.peer, observer=user.peer, timeout=timeout
            ),
            timeout=left(),
        )
        if first.items:
            self._note_known(user)
        return bool(first.items)

    def _note_known(self, user: User) -> None:
        with self._lock:
            self._known[user] = None
            self._known.move_to_end(user)
            if len(self._known) > REMEMBERED_USERS:
                self._known.popitem(last=False)

    def ledger(self, user: User, left: Left) -> Ledger:
        """The ledger of a user, who is created where missing."""
        ledger = Ledger.of(self._metadata(user, left))
        self._note_known(user)
        return ledger

    def start_ledger(
        self, user: User, timeout: float, *, beside: Pending[Any]
    ) -> Pending[Ledger] | None:
        """Ask for the ledger beside something else; None where that might create the user."""
        with self._lock:
            if user not in self._known:
                return None
        return self._requests.start(
            lambda timeout: Ledger.of(
                self._honcho.peer_metadata(user.workspace, user.peer, timeout=timeout)
            ),
            timeout=timeout,
            beside=beside,
        )

    def change(self, user: User, change: Callable[[Ledger], Ledger], left: Left) -> None:
        """Change the ledger, and nothing else in the metadata of the user's peer.

        Honcho has no conditional write: of two programs that do this at once one may undo what
        the other did. In one process `changing` keeps them apart.
        """
        metadata = self._metadata(user, left)
        changed = change(Ledger.of(metadata)).within(metadata)
        if changed != metadata:
            self._requests.run(
                lambda timeout: self._honcho.put_peer_metadata(
                    user.workspace, user.peer, changed, timeout=timeout
                ),
                timeout=left(),
            )

    def _metadata(self, user: User, left: Left) -> dict[str, object]:
        return self._requests.run(
            lambda timeout: self._honcho.peer_metadata(user.workspace, user.peer, timeout=timeout),
            timeout=left(),
        )

    def create(self, user: User, contents: Sequence[str], left: Left) -> tuple[Conclusion, ...]:
        """Store at most `BATCH` conclusions of a user who exists."""
        return self._requests.run(
            lambda timeout: self._honcho.create_conclusions(
                user.workspace, user.peer, contents, timeout=timeout
            ),
            timeout=left(),
        )

    def delete(self, user: User, conclusion: str, left: Left) -> None:
        """Delete a conclusion; one that is gone already is no error."""
        with contextlib.suppress(HonchoNotFound):
            self._requests.run(
                lambda timeout: self._honcho.delete_conclusion(
                    user.workspace, conclusion, timeout=timeout
                ),
                timeout=left(),
            )


class _Locks:
    """Some locks that users are spread over; anew after a fork, in which nobody holds one."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._locks = [threading.RLock() for _ in range(64)]

    def of(self, user: User) -> threading.RLock:
        if self._pid != os.getpid():
            self._reset()
        return self._locks[hash(user) % len(self._locks)]


changing = _Locks().of
"""The lock of whoever changes a user's memory: of the process, since two memories of it may have
the same user."""
