"""Machines that deliver what a host's users say, under one clock, and what was said.

Everything runs in the thread of the test: a process is the objects that it would hold, and
dies by losing them between two of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol, cast

from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.adapters.in_memory.faults import Fault
from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.application.clearing import Clearing, ClearingRules
from honcho_memory.application.courier import Courier
from honcho_memory.application.equipment import CourierRules, Equipment
from honcho_memory.application.fact_store import FactStore
from honcho_memory.application.recalling import Recalling, RecallRules
from honcho_memory.application.remembering import Remembering, RememberingRules
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.messages import Outgoing
from honcho_memory.domain.results import Cleared
from honcho_memory.domain.transcript import LengthLimit
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.outbox import Outbox

Raw = Mapping[str, Any]

SERVER = "http://honcho.example"
RULES = CourierRules(SERVER, timeout=10, assistant_peer="deerflow")
CLEARING = ClearingRules(SERVER, assistant_peer="deerflow", timeout=10, lease=RULES.lease)
REMEMBERING = RememberingRules(SERVER, Identities(), LengthLimit())

SETTLE_TIME = 14.0
"""Seconds within which Honcho carries out a request. A lease is longer, by more than it may
take to send one."""

NAMED, UNNAMED, STUMBLED_OVER = "(named)", "(unnamed)", "(stumbled over)"
"""In a text, what Honcho does about it: refuses it by its place, without saying which of the
batch it is, or answers 500 each time."""


class Killed(BaseException):
    """The process has ended between two of its steps."""


class Fate:
    """Interrupts a process once, after so many of its steps."""

    def __init__(self) -> None:
        self.is_dead = False
        self._left = 0
        self._event: Callable[[str], None] | None = None

    def interrupt(self, after: int, event: Callable[[str], None]) -> None:
        """Let something happen, which is told the place, after so many steps."""
        self._left, self._event = after, event

    def kill(self, after: int) -> None:
        """Let the process end after so many steps."""
        self.interrupt(after, self._die)

    def spare(self) -> None:
        """Take back what has not happened."""
        self._event = None

    def step(self, place: str) -> None:
        """The process is between two steps."""
        if self.is_dead:
            raise Killed
        self._left -= 1
        if self._left <= 0 and self._event is not None:
            event, self._event = self._event, None
            event(place)

    def _die(self, _place: str) -> None:
        self.is_dead = True
        raise Killed


class _Fated:
    """Anything, each call of which is a step of a process."""

    def __init__(self, inner: object, fate: Fate) -> None:
        self._inner = inner
        self._fate = fate

    def __getattr__(self, name: str) -> Callable[..., object]:
        call: Callable[..., object] = getattr(self._inner, name)

        def fated(*args: object, **options: object) -> object:
            self._fate.step(f"before {name}")
            try:
                return call(*args, **options)
            finally:
                self._fate.step(f"after {name}")

        return fated


class Storage(Protocol):
    """Where a machine keeps its outbox."""

    def open(self) -> Outbox:
        """The outbox, as another process of the machine opens it."""
        ...

    def close(self) -> None:
        """Close what was opened."""
        ...


class DiskStorage:
    """A file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = ExitStack()

    def open(self) -> Outbox:
        """Open it once more."""
        return self._opened.enter_context(closing(SqliteOutbox(self._path)))

    def close(self) -> None:
        """Close all."""
        self._opened.close()


class MemoryStorage:
    """A memory that outlives the objects that use it."""

    def __init__(self) -> None:
        self._outbox = InMemoryOutbox()

    def open(self) -> Outbox:
        """Always the same."""
        return self._outbox

    def close(self) -> None:
        """Close it."""
        self._outbox.close()


class Process:
    """The objects of one process on a machine."""

    def __init__(
        self,
        storage: Storage,
        honcho: Honcho,
        clock: ManualClock,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self.storage = storage
        self.outbox = storage.open()
        self.fate = Fate()
        self._fated_outbox = cast("Outbox", _Fated(self.outbox, self.fate))
        fated_honcho = cast("Honcho", _Fated(honcho, self.fate))
        state = ServerState(clock, jitter=lambda: 0.5)
        # Time that passes while a request is under way must not race with its end.
        requests = Requests(state, ManualClock(), limit=8)
        equipment = Equipment(RULES, fated_honcho, self._fated_outbox, requests, clock)
        self._clearing = Clearing(
            CLEARING,
            honcho=fated_honcho,
            requests=requests,
            store=FactStore(fated_honcho, requests, Identities()),
            outbox=self._fated_outbox,
            marks=equipment.marks,
            recalling=Recalling(RecallRules(), fated_honcho, requests, clock),
            clock=clock,
            sleep=sleep or clock.advance,
        )
        self._courier = Courier(equipment, state, jitter=lambda: 0.5)
        self._remembering = Remembering(REMEMBERING, MessageReader(), clock)

    def remember(self, thread: str, messages: Sequence[Raw], user: User) -> None:
        """Accept what is new."""
        self._remembering.accept(self._fated_outbox, thread, messages, user, context={})

    def clear(self, user: User) -> Cleared:
        """Clear a user's memory.

        Raises:
            Killed: The process has died on the way.
        """
        try:
            return self._clearing.clear(user)
        except BaseException as error:
            if self.fate.is_dead:
                raise Killed from error
            raise

    def deliver(self) -> int | None:
        """Deliver one lane; None when there is nothing to do now.

        Raises:
            Killed: The process has died on the way.
        """
        try:
            return self._courier.deliver_next()
        except BaseException as error:
            if self.fate.is_dead:
                raise Killed from error
            raise


class PickyHoncho(InMemoryHoncho):
    """A Honcho that cannot take every text."""

    def add_messages(
        self, workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        """See `MessageStore.add_messages`."""
        named = {place: "bad" for place, each in enumerate(messages) if NAMED in each.content}
        if named:
            raise HonchoRejected("some are bad", status=422, refused=named)
        if any(UNNAMED in each.content for each in messages):
            raise HonchoRejected("one is bad", status=413)
        if any(STUMBLED_OVER in each.content for each in messages):
            raise HonchoUnavailable("unexpected", status=500)
        super().add_messages(workspace, session, messages, timeout=timeout)


class World:
    """A Honcho, the way of time, and requests that Honcho carries out late."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.honcho = PickyHoncho(clock=self.clock)
        self._late: dict[Fault, float | None] = {}

    def carry_out_later(self) -> None:
        """The answer to the next request that stores messages is lost, and it comes late."""
        self._late[self.honcho.faults.carry_out_later(operation="add_messages")] = None

    @property
    def expects_late_requests(self) -> bool:
        """Whether a request may be on its way that its sender has given up."""
        return bool(self._late)

    def release_late_requests(self) -> None:
        """Honcho gets round to them."""
        late, self._late = self._late, {}
        for fault in late:
            fault.stop()
            fault.release()

    def advance(self, seconds: float) -> None:
        """Let time pass; what is on its way comes within the settle time."""
        now = self.clock.monotonic()
        for fault, sent_at in self._late.items():
            if sent_at is None and fault.hits:
                self._late[fault] = now
        sent = [at for at in self._late.values() if at is not None]
        if sent and now + seconds > min(sent) + SETTLE_TIME:
            before = max(0.0, min(sent) + SETTLE_TIME - now)
            self.clock.advance(before)
            seconds -= before
            self.release_late_requests()
        self.clock.advance(seconds)
