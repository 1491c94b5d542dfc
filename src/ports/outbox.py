"""What the core needs to keep turn messages safe until they are delivered.

Messages wait in *lanes*, one for each session, in the order of acceptance. A lane has one
holder at a time. `due`, a wall-clock time, is ready list, back-off and lease in one: a lane is
claimable once `due` has passed. Time is always a parameter: seconds since the epoch. Safe to
call from many threads and, where the storage is shared, from many processes.

Every method may raise `OutboxUnavailable`; then nothing was changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from honcho_memory.domain.messages import Outgoing


@dataclass(frozen=True, slots=True)
class Lane:
    """Where messages go: a session of a workspace on one server."""

    server: str
    workspace: str
    session: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A message at acceptance.

    Attributes:
        message: What is to be delivered.
        doubtful: Whether Honcho may hold it already and has to be asked first.
        builtin_digest: See `TurnMessage`; None when its text says nothing about whether it
            is stored.
        owner: The peer of the user whose memory it belongs to; of an answer, who asked.
        said_at: When it was said or, of an answer, asked for; 0 when all that is known is
            that others followed it. `message.created_at` may have been made to fit in.
    """

    message: Outgoing
    doubtful: bool = False
    builtin_digest: str | None = None
    owner: str = ""
    said_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that was accepted and is not delivered.

    Attributes:
        number: Its place in the order of acceptance.
        accepted_at: When it was accepted.
    """

    number: int
    message: Outgoing
    doubtful: bool
    builtin_digest: str | None
    accepted_at: float
    owner: str
    said_at: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A lane in the hands of one holder, with its oldest messages.

    Attributes:
        failures: How many times in a row the lane was released as failed.
    """

    lane: Lane
    holder: str
    rows: tuple[Waiting, ...]
    failures: int


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that waits, as somebody who looks into the outbox sees it."""

    number: int
    lane: Lane
    message: Outgoing
    accepted_at: float


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that Honcho refused, kept with the server's reason."""

    number: int
    lane: Lane
    message: Outgoing
    reason: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many messages there are.

    Attributes:
        waiting: Accepted for this server and not delivered.
        set_aside: Refused by this server, waiting for somebody's decision.
        elsewhere: Waiting for another server.
    """

    waiting: int = 0
    set_aside: int = 0
    elsewhere: int = 0


class Outbox(Protocol):
    """Turn messages between acceptance and delivery."""

    def known(self, lane: Lane, keys: Collection[str]) -> set[str]:
        """Which of these keys the lane has seen: waiting, set aside, or lately delivered."""
        ...

    def put(self, lane: Lane, drafts: Sequence[Draft], *, now: float) -> int:
        """Accept the drafts whose key the lane has not seen, all of them or none.

        A message never gets a time before its predecessor's in the lane.

        Returns:
            How many were new.

        Raises:
            OutboxFull: They would exceed the limit on messages or bytes.
        """
        ...

    def drop(self, lane: Lane, keys: Collection[str], *, now: float) -> int:
        """Forget the content of messages that wait, keep their keys; returns how many waited."""
        ...

    def forget(
        self, server: str, workspace: str, owner: str, *, until: float, now: float
    ) -> Sequence[Lane]:
        """Forget what waits or was set aside of a user, said at `until` at the latest.

        As with `drop` the keys are kept. A request that holds some of it may be under way.

        Returns:
            The lanes in which there was any, by session.
        """
        ...

    def hold(self, lane: Lane, *, holder: str, now: float, lease: float) -> Claim | None:
        """Take a lane without its messages, so that nothing of it is delivered meanwhile.

        Returns:
            What it is renewed and released with; None when somebody else holds the lane.
        """
        ...

    def claim(
        self, server: str, *, holder: str, now: float, lease: float, limit: int, max_bytes: int
    ) -> Claim | None:
        """Take the lane that has been due longest, with its oldest messages.

        The lane stays the holder's until now + lease. What is handed out counts as doubtful
        from then on, since a request for it may be out: its next claim says so.

        Args:
            server: Whose lanes.
            holder: Who takes it; unlike any other holder, alive or dead.
            now: The time.
            lease: In seconds.
            limit: At most so many messages.
            max_bytes: At most so many bytes of UTF-8 content, but at least one message.
        """
        ...

    def renew(self, claim: Claim, *, now: float, lease: float) -> bool:
        """Hold on until now + lease; False when the lane is no longer the holder's."""
        ...

    def delivered(self, claim: Claim, numbers: Collection[int], *, now: float) -> None:
        """These are in Honcho: forget their content, keep their keys. Ends a row of failures."""
        ...

    def set_aside(self, claim: Claim, reasons: Mapping[int, str], *, now: float) -> None:
        """Honcho refuses these: keep them with the reason, out of the way of the others."""
        ...

    def release(self, claim: Claim, *, due: float, failed: bool = False) -> None:
        """Give the lane back, claimable from `due` on; nothing happens if it was lost."""
        ...

    def next_due(self, server: str) -> float | None:
        """When the next lane becomes claimable; None when nothing waits."""
        ...

    def tally(self, server: str) -> Tally:
        """Count the messages, seen from this server."""
        ...

    def servers(self) -> Sequence[str]:
        """The servers for which messages wait or were set aside, sorted."""
        ...

    def queued(self, server: str) -> Sequence[Queued]:
        """The messages that wait, in the order of acceptance."""
        ...

    def refused(self, server: str) -> Sequence[Refused]:
        """The messages that were set aside, in the order of acceptance."""
        ...

    def retry(self, numbers: Collection[int], *, now: float) -> int:
        """Let messages that were set aside wait again; returns how many did."""
        ...

    def discard(self, numbers: Collection[int], *, now: float) -> int:
        """Forget the content of messages that were set aside; returns how many there were."""
        ...

    def mark(self, server: str, name: str, value: str) -> None:
        """Remember a value under a name, for this server."""
        ...

    def marked(self, server: str, name: str) -> str | None:
        """The value that was remembered under a name, if any."""
        ...

    def tidy(self, *, now: float) -> None:
        """Erase what is no longer needed: delivered content, old keys."""
        ...

    def close(self) -> None:
        """Release the storage; safe to call twice. Calls after it raise OutboxUnavailable."""
        ...
