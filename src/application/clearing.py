"""Clearing a user's memory, so that nothing of it comes back."""

from __future__ import annotations

import contextlib
import logging
import math
import time
import uuid
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from honcho_memory.application.clear_marks import ClearMarks
from honcho_memory.application.fact_store import FactStore, changing
from honcho_memory.application.paging import all_items
from honcho_memory.application.recalling import Recalling
from honcho_memory.application.requests import Requests
from honcho_memory.domain.errors import HonchoNotFound, HonchoUnavailable, OutboxError
from honcho_memory.domain.facts import Ledger
from honcho_memory.domain.identity import User, workspace_hash
from honcho_memory.domain.results import Cleared
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.management import SessionPage
from honcho_memory.ports.outbox import Claim, Lane, Outbox

logger = logging.getLogger("honcho_memory")

MOST_ROUNDS = 10
"""So often the conclusions are listed that are left to delete."""
POLL_SECONDS = 0.02
"""Between two looks whether a session is still being delivered to."""


@dataclass(frozen=True, slots=True)
class ClearingRules:
    """What is settled for every clearing.

    Attributes:
        server: Whose lanes are held.
        assistant_peer: Being in a session with the assistant is not being with other people.
        timeout: Of one request, in seconds.
        lease: Of a lane, in seconds; see `CourierRules.lease`.
    """

    server: str
    assistant_peer: str
    timeout: float
    lease: float


class Clearing:
    """Deletes what Honcho holds about a user, and keeps the rest of it from being delivered."""

    def __init__(
        self,
        rules: ClearingRules,
        *,
        honcho: Honcho,
        requests: Requests,
        store: FactStore,
        outbox: Outbox,
        marks: ClearMarks,
        recalling: Recalling,
        clock: Clock,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rules = rules
        self._honcho = honcho
        self._requests = requests
        self._store = store
        self._outbox = outbox
        self._marks = marks
        self._recalling = recalling
        self._clock = clock
        self._sleep = sleep

    def clear(self, user: User) -> Cleared:
        """Clear a memory; doing it again is harmless.

        Nobody delivers to the user's sessions meanwhile. What is said from now on is kept, and
        delivered when Honcho is done.

        Raises:
            HonchoRequestError: Honcho could not be asked. Nothing has changed when the first
                request failed; else nothing that was said until now is delivered any more, and
                clearing again deletes the rest.
            OutboxUnavailable: What waits cannot be forgotten; nothing was deleted.
        """
        with changing(user):
            sessions = self._sessions(user)
            lanes = _Held(self._rules, self._outbox, self._clock, self._sleep)
            try:
                cleared_at = self._forget(user, lanes, set(sessions))
                # Only now: what was on its way while the lanes were not held has arrived.
                kept = {each for each in lanes.sessions if self._is_shared(user, each)}
                return self._delete(user, lanes, kept, cleared_at)
            finally:
                self._recalling.forget(user)
                lanes.release()

    def _forget(self, user: User, lanes: _Held, sessions: set[str]) -> float:
        """Forget what waits and hold where it was going to, too; returns the time."""
        while True:
            lanes.hold(self._lane(user, session) for session in sessions)
            # In whole microseconds, as messages have their times, and never before one of now.
            now = math.ceil(self._clock.time() * 1e6) / 1e6
            self._marks.note_cleared(user, now)
            for server in self._outbox.servers():
                if server != self._rules.server:
                    self._outbox.forget(server, user.workspace, user.peer, until=now, now=now)
            touched = self._outbox.forget(
                self._rules.server, user.workspace, user.peer, until=now, now=now
            )
            sessions = {lane.session for lane in touched} - lanes.sessions
            if not sessions:
                return now

    def _delete(
        self,
        user: User,
        lanes: _Held,
        kept: Collection[str],
        cleared_at: float,
    ) -> Cleared:
        sessions = sorted(lanes.sessions - set(kept))
        self._store.change(user, lambda _: Ledger(cleared_at=cleared_at), self._left)
        self._marks.note_deleting(user, sessions, cleared_at)
        for session in sessions:
            lanes.keep()
            self._delete_session(user.workspace, session)
        conclusions = self._delete_conclusions(user, lanes)
        self._empty_card(user)
        if kept:
            logger.warning(
                "%d sessions with other people are kept, with what this user said in them",
                len(kept),
                extra={
                    "operation": "clear",
                    "count": len(kept),
                    "workspace_hash": workspace_hash(user.workspace),
                },
            )
        return Cleared(tuple(sessions), tuple(sorted(kept)), conclusions)

    def _delete_conclusions(self, user: User, lanes: _Held) -> int:
        """Until none is listed: Honcho deletes beside us, and what is on a later page moves up."""
        deleted: set[str] = set()
        for _ in range(MOST_ROUNDS):
            conclusions = self._store.conclusions(user, None, self._left)
            if not conclusions:
                return len(deleted)
            for conclusion in conclusions:
                lanes.keep()
                self._store.delete(user, conclusion.id, self._left)
                deleted.add(conclusion.id)
        raise HonchoUnavailable("conclusions are still being added; clear again")

    def _delete_session(self, workspace: str, session: str) -> None:
        # Not found is one that was never delivered to, or that is being deleted already.
        with contextlib.suppress(HonchoNotFound):
            self._requests.run(
                lambda timeout: self._honcho.delete_session(workspace, session, timeout=timeout),
                timeout=self._left(),
            )

    def _empty_card(self, user: User) -> None:
        card = self._requests.run(
            lambda timeout: self._honcho.peer_card(user.workspace, user.peer, timeout=timeout),
            timeout=self._left(),
        )
        if card:
            self._requests.run(
                lambda timeout: self._honcho.put_peer_card(
                    user.workspace, user.peer, (), timeout=timeout
                ),
                timeout=self._left(),
            )

    def _sessions(self, user: User) -> tuple[str, ...]:
        def read(page: int) -> SessionPage:
            return self._requests.run(
                lambda timeout: self._honcho.peer_sessions(
                    user.workspace, user.peer, page=page, timeout=timeout
                ),
                timeout=self._left(),
            )

        return tuple(dict.fromkeys(all_items(read)))

    def _is_shared(self, user: User, session: str) -> bool:
        """Whether somebody else has said something in a session."""
        try:
            peers = self._requests.run(
                lambda timeout: self._honcho.session_peers(
                    user.workspace, session, timeout=timeout
                ),
                timeout=self._left(),
            )
        except HonchoNotFound:
            return False
        return not {user.peer, self._rules.assistant_peer}.issuperset(peers)

    def _lane(self, user: User, session: str) -> Lane:
        return Lane(self._rules.server, user.workspace, session)

    def _left(self) -> float:
        return self._rules.timeout


class _Held:
    """Lanes that nobody delivers to, for as long as they are held."""

    def __init__(
        self, rules: ClearingRules, outbox: Outbox, clock: Clock, sleep: Callable[[float], None]
    ) -> None:
        self._lease = rules.lease
        self._outbox = outbox
        self._clock = clock
        self._sleep = sleep
        self._holder = uuid.uuid4().hex
        self._claims: dict[Lane, Claim] = {}
        self._kept_at = clock.monotonic()

    @property
    def sessions(self) -> set[str]:
        return {lane.session for lane in self._claims}

    def hold(self, lanes: Iterable[Lane]) -> None:
        """Take these too, each one when the request that is under way for it is over."""
        for lane in lanes:
            deadline = self._clock.monotonic() + 2 * self._lease
            while lane not in self._claims:
                now = self._clock.time()
                claim = self._outbox.hold(lane, holder=self._holder, now=now, lease=self._lease)
                if claim is not None:
                    self._claims[lane] = claim
                elif self._clock.monotonic() < deadline:
                    self._sleep(POLL_SECONDS)
                else:
                    raise HonchoUnavailable("a session is still being delivered to; clear again")
                self.keep()

    def keep(self) -> None:
        """Renew the leases in time; call it before every request."""
        if self._clock.monotonic() - self._kept_at < self._lease / 3:
            return
        self._kept_at = self._clock.monotonic()
        for claim in self._claims.values():
            if not self._outbox.renew(claim, now=self._clock.time(), lease=self._lease):
                raise HonchoUnavailable("clearing took too long to finish; clear again")

    def release(self) -> None:
        for claim in self._claims.values():
            with contextlib.suppress(OutboxError):
                self._outbox.release(claim, due=self._clock.time())
