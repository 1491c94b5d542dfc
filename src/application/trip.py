"""One claimed lane on its way to Honcho: ask where there is doubt, send the rest."""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from honcho_memory.application.equipment import Equipment, about_delivery
from honcho_memory.application.paging import all_items
from honcho_memory.domain.errors import (
    HonchoRejected,
    HonchoUnavailable,
    loggable,
)
from honcho_memory.domain.messages import StoredMessage
from honcho_memory.domain.text import text_digest
from honcho_memory.ports.honcho import MessagePage
from honcho_memory.ports.outbox import Claim, Waiting

DOUBTFUL_AFTER = 30.0
"""Seconds that a message waits until another machine may have delivered it."""
LASTING_FAILURES = 6
"""Honcho that has answered 500 so often in a row refuses something in the session."""
REFUSES_EVERYTHING = 3
"""So many refused and none accepted: what is wrong is not the messages."""

_PASSING = frozenset({408, 409})
_INTERNAL_ERROR = 500

T = TypeVar("T")

logger = logging.getLogger("honcho_memory")


class LaneLost(Exception):
    """The lease ran out and somebody else may hold the lane."""


class RefusesEverything(Exception):
    """Honcho refuses all that a session has to say; nothing of it was set aside."""


@dataclass(slots=True)
class Trouble:
    """What a session has met with since Honcho last took something of it.

    Attributes:
        refused: How many of its messages were set aside.
        internal_errors: How many times Honcho answered 500.
    """

    refused: int = 0
    internal_errors: int = 0


class Trip:
    """Takes a claim's messages to Honcho, each one once and in order.

    Args:
        equipment: What it works with.
        claim: Whose messages.
        trouble: Of earlier trips; it is kept up.

    Attributes:
        arrived: How many messages are in Honcho now that were waiting before.
        is_sending: Whether the last request was one that stores messages, so that losing its
            answer leaves their fate open.
    """

    def __init__(self, equipment: Equipment, claim: Claim, trouble: Trouble) -> None:
        self._equipment = equipment
        self._claim = claim
        self._trouble = trouble
        self._is_500_lasting = trouble.internal_errors >= LASTING_FAILURES
        self._refused: dict[int, str] = {}
        self._refused_alone = 0
        self._accepted = 0
        self.arrived = 0
        self.is_sending = False

    def deliver(self) -> None:
        """Bring the claim's messages to Honcho, or set aside those that it refuses.

        Raises:
            HonchoRequestError: It could not be finished; what was done is noted in the outbox.
            LaneLost: Somebody else may be at it.
            RefusesEverything: Nothing was accepted.
        """
        now = self._equipment.clock.time()
        self._introduce_assistant()
        doubtful = {
            row.number
            for row in self._claim.rows
            if row.doubtful or now - row.accepted_at >= DOUBTFUL_AFTER
        }
        stored = self._find([row for row in self._claim.rows if row.number in doubtful])
        lacking = [row for row in self._claim.rows if row.number not in stored]
        try:
            self._send(self._without_cleared(lacking, doubtful, now))
        finally:
            self._set_aside_refused()

    def _without_cleared(
        self, rows: Sequence[Waiting], doubtful: set[int], now: float
    ) -> Sequence[Waiting]:
        """Drop what its user has cleared since it was said.

        Another machine may have cleared what Honcho was asked about, but for a turn that is new.
        """
        lane = self._claim.lane
        in_doubt = [row for row in rows if row.number in doubtful]
        is_one_turn = _is_one_turn(in_doubt)
        asks = {
            row.owner for row in in_doubt if not is_one_turn or now - row.said_at >= DOUBTFUL_AFTER
        }
        cleared_at = {
            owner: self._cleared_at(owner, asks_honcho=owner in asks)
            for owner in {row.owner for row in rows if row.owner}
        }
        cleared = [row for row in rows if row.said_at <= cleared_at.get(row.owner, -math.inf)]
        if cleared:
            keys = [row.message.key for row in cleared]
            self._equipment.outbox.drop(lane, keys, now=now)
            logger.info(
                "%d messages are dropped, because their user cleared them",
                len(cleared),
                extra=about_delivery(lane, len(cleared)),
            )
        gone = {row.number for row in cleared}
        return [row for row in rows if row.number not in gone]

    def _cleared_at(self, owner: str, *, asks_honcho: bool) -> float:
        """When a user cleared their memory; before all time for never."""
        equipment, workspace = self._equipment, self._claim.lane.workspace

        def ask() -> Mapping[str, object]:
            return self._run(
                lambda timeout: equipment.honcho.peer_metadata(workspace, owner, timeout=timeout)
            )

        here = equipment.marks.cleared_at(workspace, owner)
        now = equipment.clock.monotonic()
        there = equipment.clearings.latest((workspace, owner), now, ask if asks_honcho else None)
        return max(here, there) or -math.inf

    def _send(self, rows: Sequence[Waiting]) -> None:
        pending = [rows]
        while pending:
            batch = pending.pop(0)
            if not batch:
                continue
            try:
                self._post(batch)
            except HonchoRejected as error:
                if error.status in _PASSING:
                    raise
                pending[:0] = self._after_refusal(batch, error)
            else:
                self._accepted += len(batch)
                self._trouble.refused = self._trouble.internal_errors = 0
                self._note_arrival({row.number for row in batch})
        if self._refuses_everything():
            raise RefusesEverything

    def _post(self, batch: Sequence[Waiting]) -> None:
        lane = self._claim.lane
        self.is_sending = True
        try:
            self._run(
                lambda timeout: self._equipment.honcho.add_messages(
                    lane.workspace, lane.session, [row.message for row in batch], timeout=timeout
                )
            )
        except HonchoUnavailable as error:
            if error.status != _INTERNAL_ERROR:
                raise
            self._trouble.internal_errors += 1
            if not self._is_500_lasting:
                raise
            raise HonchoRejected(str(error), status=error.status) from error

    def _after_refusal(
        self, batch: Sequence[Waiting], error: HonchoRejected
    ) -> list[Sequence[Waiting]]:
        """What is still to be sent of a refused batch: the messages not named, or its halves."""
        named = {
            batch[place].number: reason
            for place, reason in error.refused.items()
            if 0 <= place < len(batch)
        }
        if named:
            self._refused |= named
            return [[row for row in batch if row.number not in named]]
        if error.status == _INTERNAL_ERROR:
            # A server may fail after it has stored.
            stored = self._find(batch)
            batch = [row for row in batch if row.number not in stored]
        if len(batch) == 1:
            self._refused[batch[0].number] = str(error)
            self._refused_alone += 1
            if not self._accepted and self._refused_alone >= REFUSES_EVERYTHING:
                raise RefusesEverything
            return []
        half = len(batch) // 2
        return [batch[:half], batch[half:]]

    def _refuses_everything(self) -> bool:
        refused = self._trouble.refused + len(self._refused)
        return not self._accepted and refused >= REFUSES_EVERYTHING

    def _set_aside_refused(self) -> None:
        if self._refused and not self._refuses_everything():
            equipment = self._equipment
            equipment.outbox.set_aside(self._claim, self._refused, now=equipment.clock.time())
            if not self._accepted:
                self._trouble.refused += len(self._refused)

    def _find(self, rows: Sequence[Waiting]) -> set[int]:
        """Ask Honcho which of these it holds, and note those as arrived."""
        if not rows:
            return set()
        question = _Question(rows)
        found: set[int] = set()
        for message in all_items(lambda page: self._find_page(question, page)):
            found |= question.rows_of(message)
        self._note_arrival(found)
        return found

    def _find_page(self, question: _Question, page: int) -> MessagePage:
        lane = self._claim.lane
        self.is_sending = False
        return self._run(
            lambda timeout: self._equipment.honcho.find_messages(
                lane.workspace,
                lane.session,
                question.keys,
                or_without_key=question.asks_for_text,
                page=page,
                timeout=timeout,
            )
        )

    def _introduce_assistant(self) -> None:
        """Say once per workspace whether Honcho is to draw conclusions about the assistant."""
        equipment, rules = self._equipment, self._equipment.rules
        workspace, peer = self._claim.lane.workspace, rules.assistant_peer
        name, wanted = f"observed/{workspace}/{peer}", str(rules.assistant_observed)
        if (equipment.outbox.marked(rules.server, name) or str(True)) == wanted:
            return
        try:
            self._run(
                lambda timeout: equipment.honcho.configure_peer(
                    workspace, peer, observe_me=rules.assistant_observed, timeout=timeout
                )
            )
        except HonchoRejected as error:
            logger.warning(
                "Honcho will draw conclusions about the assistant: %s",
                loggable(error),
                extra={
                    **about_delivery(self._claim.lane, len(self._claim.rows)),
                    "error_type": type(error).__name__,
                },
            )
        equipment.outbox.mark(rules.server, name, wanted)

    def _note_arrival(self, numbers: set[int]) -> None:
        if numbers:
            equipment, now = self._equipment, self._equipment.clock.time()
            # First, so that nobody sees an empty outbox and less arrived than was in it.
            equipment.arrivals.note(len(numbers), now)
            equipment.outbox.delivered(self._claim, numbers, now=now)
            equipment.marks.note_arrival(self._claim.lane)
            self.arrived += len(numbers)

    def _run(self, call: Callable[[float], T]) -> T:
        """Make one request, with the lane in hand for as long as it may take.

        Its time counts from before the lease does: a process that is stopped in between sends
        nothing any more when it goes on.
        """
        equipment, rules = self._equipment, self._equipment.rules
        deadline = equipment.clock.monotonic() + rules.timeout
        now = equipment.clock.time()
        if not equipment.outbox.renew(self._claim, now=now, lease=rules.lease):
            raise LaneLost
        return equipment.requests.run(call, timeout=deadline - equipment.clock.monotonic())


def _is_one_turn(rows: Sequence[Waiting]) -> bool:
    questions = [row for row in rows if row.message.author == row.owner]
    return len(questions) <= 1 and len({row.said_at for row in rows}) == 1


class _Question:
    """Which of these messages does Honcho hold?"""

    def __init__(self, rows: Sequence[Waiting]) -> None:
        self._by_key = {row.message.key: row.number for row in rows}
        self._by_text: dict[tuple[str, str], set[int]] = defaultdict(set)
        for row in rows:
            if row.builtin_digest is not None:
                self._by_text[row.message.author, row.builtin_digest].add(row.number)

    @property
    def keys(self) -> list[str]:
        return list(self._by_key)

    @property
    def asks_for_text(self) -> bool:
        """Whether what another program stored without keys may hold one of them."""
        return bool(self._by_text)

    def rows_of(self, message: StoredMessage) -> set[int]:
        """The rows that a message of Honcho's answer speaks for."""
        if message.key is None:
            return self._by_text.get((message.author, text_digest(message.content)), set())
        number = self._by_key.get(message.key)
        return set() if number is None else {number}
