"""Delivering what waits in the outbox, a claim at a time."""

from __future__ import annotations

import logging
import random
import threading
import uuid
from collections.abc import Callable

from honcho_memory.application.equipment import Equipment, about_delivery
from honcho_memory.application.server_state import ServerState, backoff
from honcho_memory.application.trip import (
    LaneLost,
    RefusesEverything,
    Trip,
    Trouble,
)
from honcho_memory.domain.errors import (
    HonchoRequestError,
    HonchoUnavailable,
    loggable,
)
from honcho_memory.ports.outbox import Claim, Lane

logger = logging.getLogger("honcho_memory")

BATCH_MESSAGES = 100
"""Honcho refuses more in one request."""
BATCH_BYTES = 1_000_000
LONGEST_BACKOFF = 300.0
"""Of one lane, in seconds."""
_MOST_TROUBLES = 1_000
"""How many lanes' troubles are kept; one that is forgotten costs some tries."""


class Courier:
    """Carries messages from the outbox to Honcho, so that each one is stored once."""

    def __init__(
        self,
        equipment: Equipment,
        state: ServerState,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._equipment = equipment
        self._state = state
        self._jitter = jitter
        self._troubles: dict[Lane, Trouble] = {}
        self._under_way: set[Lane] = set()
        self._lock = threading.Lock()

    def deliver_next(self) -> int | None:
        """Claim the lane that has been due longest and deliver its oldest messages.

        Returns:
            How many messages arrived; None when there is nothing to do now.

        Raises:
            OutboxUnavailable: The storage failed; the lane is claimable again after its lease.
        """
        if self._state.pause() > 0:
            return None
        rules = self._equipment.rules
        claim = self._equipment.outbox.claim(
            rules.server,
            holder=uuid.uuid4().hex,
            now=self._equipment.clock.time(),
            lease=rules.lease,
            limit=BATCH_MESSAGES,
            max_bytes=BATCH_BYTES,
        )
        if claim is None:
            return None
        with self._lock:
            if claim.lane in self._under_way:
                # This process has slept for longer than the lease, and another thread of it may
                # be about to send: the lane stays held until that is over.
                return 0
            self._under_way.add(claim.lane)
        try:
            return self._deliver(claim)
        finally:
            with self._lock:
                self._under_way.discard(claim.lane)

    def _deliver(self, claim: Claim) -> int:
        trouble = self._troubles.get(claim.lane) or Trouble()
        trip = Trip(self._equipment, claim, trouble)
        try:
            trip.deliver()
        except HonchoRequestError as error:
            self._give_back(claim, error, is_sending=trip.is_sending)
        except RefusesEverything:
            self._stop(claim)
        except LaneLost:
            logger.info(
                "a session was taken over while it was being delivered",
                extra=about_delivery(claim.lane, len(claim.rows)),
            )
        else:
            self._equipment.outbox.release(claim, due=self._equipment.clock.time())
        finally:
            self._note_trouble(claim.lane, trouble)
        return trip.arrived

    def _note_trouble(self, lane: Lane, trouble: Trouble) -> None:
        self._troubles.pop(lane, None)
        if trouble != Trouble():
            self._troubles[lane] = trouble
            if len(self._troubles) > _MOST_TROUBLES:
                self._troubles.pop(next(iter(self._troubles)), None)

    def _give_back(self, claim: Claim, error: HonchoRequestError, *, is_sending: bool) -> None:
        now = self._equipment.clock.time()
        is_lost = isinstance(error, HonchoUnavailable) and error.outcome_unknown
        if is_sending and is_lost:
            # Honcho may still carry it out, or we may still send it after a long sleep: the lane
            # stays held until a lease from now is over.
            self._equipment.outbox.renew(claim, now=now, lease=self._equipment.rules.lease)
            return
        if self._state.pause() > 0:
            # Every session is held back; none needs a pause of its own.
            self._equipment.outbox.release(claim, due=now)
            return
        pause = backoff(claim.failures + 1, self._jitter(), longest=LONGEST_BACKOFF)
        logger.info(
            "a session waits %.0f s: %s",
            pause,
            loggable(error),
            extra={
                **about_delivery(claim.lane, len(claim.rows)),
                "seconds": pause,
                "error_type": type(error).__name__,
            },
        )
        self._equipment.outbox.release(claim, due=now + pause, failed=True)

    def _stop(self, claim: Claim) -> None:
        logger.error(
            "Honcho refuses everything of a session (%d messages, none accepted); "
            "they are kept and tried again in %.0f s",
            len(claim.rows),
            LONGEST_BACKOFF,
            extra={**about_delivery(claim.lane, len(claim.rows)), "seconds": LONGEST_BACKOFF},
        )
        due = self._equipment.clock.time() + LONGEST_BACKOFF
        self._equipment.outbox.release(claim, due=due, failed=True)
