"""Taking over what is new in a thread: select, and put into the outbox."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from honcho_memory.application.trip import DOUBTFUL_AFTER
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.messages import Message, Outgoing, Role, TurnMessage
from honcho_memory.domain.text import repair
from honcho_memory.domain.transcript import (
    LengthLimit,
    asked_times,
    last_question,
    message_key,
    piece_key,
    said_times,
    sort_transcript,
)
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.outbox import Draft, Lane, Outbox

_FIRST_LOOK = 16
"""How many keys the first look back asks about; each further look asks about twice as many."""
_MAX_METADATA_CHARS = 512


@dataclass(frozen=True, slots=True)
class RememberingRules:
    """What is settled for every message of a deployment.

    Attributes:
        server: The server's address; rows for another one wait.
        identities: The derivation of ids.
        limit: How long a stored message may be.
        backfill: Whether the older turns of a thread that is not known are remembered too.
    """

    server: str
    identities: Identities
    limit: LengthLimit
    backfill: bool = True


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was taken into the outbox: how many messages, and of which lane and keys they are."""

    lane: Lane
    count: int = 0
    keys: tuple[str, ...] = ()


class Remembering:
    """Selects the turn messages of a transcript that are new, and accepts them."""

    def __init__(
        self,
        rules: RememberingRules,
        reader: MessageReader,
        clock: Clock,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._rules = rules
        self._reader = reader
        self._clock = clock
        self._new_id = new_id

    def accept(
        self,
        outbox: Outbox,
        thread_id: str,
        messages: Sequence[object],
        user: User,
        *,
        context: Mapping[str, str | None],
    ) -> Accepted:
        """Put what is new of a transcript into the outbox, all of it or nothing.

        Args:
            outbox: Where it goes.
            thread_id: The host's id of the conversation.
            messages: The transcript, oldest first.
            user: Who said it.
            context: Further metadata of every message; what is None is left out.

        Raises:
            OutboxError: Nothing was accepted.
        """
        lane = Lane(self._rules.server, user.workspace, self._rules.identities.session(thread_id))
        stretch, is_known = self._unknown_tail(outbox, lane, messages)
        turns = sort_transcript(stretch, self._rules.limit).kept
        if not (is_known or self._rules.backfill):
            turns = turns[last_question(turns) :]
        if not turns:
            return Accepted(lane)
        now = self._clock.time()
        metadata = _plain({"thread_id": thread_id, **context})
        begin = len(messages) - len(stretch)
        asked_before = None if turns[0].role is Role.USER else self._last_asked(messages, begin)
        drafts = self._drafts(
            turns, user, metadata, is_known=is_known, asked_before=asked_before, now=now
        )
        count = outbox.put(lane, drafts, now=now)
        return Accepted(lane, count, tuple(draft.message.key for draft in drafts))

    def _unknown_tail(
        self, outbox: Outbox, lane: Lane, messages: Sequence[object]
    ) -> tuple[list[Message], bool]:
        """What follows the newest known message, and whether there is one.

        Looking from the end, a turn in a long thread costs what it costs in a short one.
        """
        end, look = len(messages), _FIRST_LOOK
        while end > 0:
            start = max(0, end - look)
            keys = {
                place: message_key(host_id)
                for place in range(start, end)
                if self._reader.role(messages[place]) is not Role.OTHER
                and (host_id := self._reader.id(messages[place]))
            }
            known = outbox.known(lane, set(keys.values())) if keys else set[str]()
            newest = max((place for place, key in keys.items() if key in known), default=None)
            if newest is not None:
                return [self._reader.read(raw) for raw in messages[newest + 1 :]], True
            end, look = start, look * 2
        return [self._reader.read(raw) for raw in messages], False

    def _last_asked(self, messages: Sequence[object], end: int) -> datetime | None:
        """When the user last said something before a place, as far as the host knows."""
        said = (
            self._reader.read(messages[place]).said_at
            for place in range(end - 1, -1, -1)
            if self._reader.role(messages[place]) is Role.USER
        )
        return next((moment for moment in said if moment is not None), None)

    def _drafts(
        self,
        turns: Sequence[TurnMessage],
        user: User,
        metadata: Mapping[str, str | int],
        *,
        is_known: bool,
        asked_before: datetime | None,
        now: float,
    ) -> list[Draft]:
        """The messages as the outbox keeps them, each with what casts doubt on it."""
        newest = last_question(turns)
        moment = datetime.fromtimestamp(now, UTC)
        times = said_times(turns, moment)
        asked = asked_times(turns, moment, before=asked_before)
        # Another machine may have taken what precedes the newest question, an answer of which the
        # question is known, and a turn that is over for a while: one of the two is regenerated.
        is_one_turn = newest == 0 and turns[0].role is Role.USER
        is_old = now - min(times).timestamp() >= DOUBTFUL_AFTER
        in_doubt = not is_known or not is_one_turn or is_old
        drafts: list[Draft] = []
        key = ""
        for place, (turn, said_at, asked_at) in enumerate(zip(turns, times, asked, strict=True)):
            if turn.piece == 1:
                key = turn.key or self._new_id()
            doubtful = in_doubt and turn.key is not None
            drafts.append(
                Draft(
                    self._outgoing(turn, key, user, said_at, metadata),
                    doubtful=doubtful,
                    builtin_digest=turn.builtin_digest if doubtful and place < newest else None,
                    owner=user.peer,
                    said_at=asked_at.timestamp() if asked_at else 0.0,
                )
            )
        return drafts

    def _outgoing(
        self,
        turn: TurnMessage,
        key: str,
        user: User,
        said_at: datetime,
        metadata: Mapping[str, str | int],
    ) -> Outgoing:
        own_key = piece_key(key, turn.piece)
        own: dict[str, str | int] = {"host_message_id": own_key, **metadata}
        if turn.pieces > 1:
            own |= {"piece": turn.piece, "pieces": turn.pieces}
        is_user = turn.role is Role.USER
        author = user.peer if is_user else self._rules.identities.assistant_peer
        return Outgoing(own_key, author, turn.text, said_at, own)


def _plain(metadata: Mapping[str, str | None]) -> dict[str, str | int]:
    """Metadata that Honcho keeps as it is: text of moderate length, without None."""
    return {
        name: repair(str(value))[:_MAX_METADATA_CHARS]
        for name, value in metadata.items()
        if value is not None
    }
