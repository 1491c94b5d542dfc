"""What the strict server holds, and the rules by which it changes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from honcho_memory.testing.strict_honcho import bodies

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,512}")
_WORD = re.compile(r"\w{3,}")

_T = TypeVar("_T", "Message", "Conclusion")


class NotFound(Exception):
    """Answered with 404."""


class Conflict(Exception):
    """Answered with 409."""


class Invalid(Exception):
    """Answered with 422 and a plain text."""


class Unexpected(Exception):
    """What the real server does not handle: answered with 500."""


@dataclass(slots=True)
class Peer:
    """A person or an agent."""

    id: str
    created_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    configuration: dict[str, Any] = field(default_factory=dict[str, Any])
    card: list[str] | None = None


@dataclass(slots=True)
class Session:
    """A conversation; not active while it is being deleted."""

    id: str
    created_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    configuration: dict[str, Any] = field(default_factory=dict[str, Any])
    members: dict[str, bodies.Membership] = field(default_factory=dict[str, bodies.Membership])
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it is stored."""

    id: str
    content: str
    peer_id: str
    session_id: str
    metadata: Mapping[str, Any]
    created_at: datetime
    token_count: int


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A statement about a peer."""

    id: str
    content: str
    observer_id: str
    observed_id: str
    session_id: str | None
    created_at: datetime
    level: str = "explicit"


@dataclass(slots=True)
class Workspace:
    """What belongs together, in the order of its creation."""

    id: str
    created_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    configuration: dict[str, Any] = field(default_factory=dict[str, Any])
    peers: dict[str, Peer] = field(default_factory=dict[str, Peer])
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    messages: list[Message] = field(default_factory=list[Message])
    conclusions: list[Conclusion] = field(default_factory=list[Conclusion])
    is_active: bool = True

    def observes(self, message: Message) -> bool:
        """Whether conclusions are drawn from a message, by its author's two configurations."""
        member = self.sessions[message.session_id].members[message.peer_id]
        peer = self.peers[message.peer_id]
        return member.observe_me is not False and peer.configuration.get("observe_me") is not False


class Storage:
    """The workspaces. Changed by one thread, the server's; others may look.

    Args:
        finish_deletions_at_once: Carry deletions out as they are asked for, rather than when
            `finish_deletions` is called.
    """

    def __init__(self, *, finish_deletions_at_once: bool = False) -> None:
        self.workspaces: dict[str, Workspace] = {}
        self._at_once = finish_deletions_at_once

    def workspace(self, name: str) -> Workspace:
        """For reading: one that does not exist is empty."""
        return self.workspaces.get(name) or Workspace(name, _now())

    def existing_workspace(self, name: str) -> Workspace:
        """The workspace, or `NotFound`."""
        if name not in self.workspaces:
            raise NotFound(f"Workspace {name} not found")
        return self.workspaces[name]

    def peer(self, workspace: str, name: str) -> Peer:
        """The peer, or `NotFound`."""
        peer = self.workspace(workspace).peers.get(name)
        if peer is None:
            raise NotFound(f"Peer {name} not found in workspace {workspace}")
        return peer

    def session(self, workspace: str, name: str) -> Session:
        """The session, or `NotFound` also while it is being deleted."""
        session = self.workspace(workspace).sessions.get(name)
        if session is None or not session.is_active:
            raise NotFound(f"Session {name} not found in workspace {workspace}")
        return session

    def make_workspace(self, body: bodies.Workspace, now: datetime) -> tuple[Workspace, bool]:
        """Get or create: metadata of one that exists is ignored."""
        existing = self.workspaces.get(body.id)
        if existing:
            return existing, False
        created = Workspace(body.id, now, body.metadata or {}, body.configuration or {})
        self.workspaces[body.id] = created
        return created, True

    def make_peer(self, workspace: str, body: bodies.Peer, now: datetime) -> tuple[Peer, bool]:
        """Get or create: what is given replaces what was there."""
        peers = self._made(workspace, now).peers
        created = body.id not in peers
        peer = peers.setdefault(body.id, Peer(body.id, now))
        _update(peer, body.metadata, body.configuration)
        return peer, created

    def make_session(
        self, workspace: str, body: bodies.Session, now: datetime
    ) -> tuple[Session, bool]:
        """Get or create, with the peers; members keep the configuration that they have."""
        sessions = self._made(workspace, now).sessions
        created = body.id not in sessions
        if created:
            sessions[body.id] = Session(body.id, now)
        session = self.session(workspace, body.id)
        _update(session, body.metadata, body.configuration)
        self.join(workspace, session, body.peers or {}, now)
        return session, created

    def join(
        self,
        workspace: str,
        session: Session,
        peers: Mapping[str, bodies.Membership],
        now: datetime,
    ) -> None:
        """Make peers members, and create those that are missing."""
        for name, membership in peers.items():
            self.make_peer(workspace, bodies.Peer(id=name), now)
            session.members.setdefault(name, membership)

    def add_messages(
        self, workspace: str, session: str, batch: Sequence[bodies.Message], now: datetime
    ) -> list[Message]:
        """Store a batch and what it needs, and conclude at once what there is to conclude."""
        authors = dict.fromkeys(message.peer_id for message in batch)
        bad = [author for author in authors if not _NAME.fullmatch(author)]
        if bad:
            raise Invalid(f"Peer name(s) {bad} must match pattern ^[a-zA-Z0-9_-]+$")
        _check_path_name(session)
        peers = {author: bodies.Membership() for author in authors}
        self.make_session(workspace, bodies.Session(id=session, peers=peers), now)
        home = self.workspaces[workspace]
        stored = [
            Message(
                id=new_id(),
                content=message.content,
                peer_id=message.peer_id,
                session_id=session,
                metadata=message.metadata or {},
                created_at=_utc(message.created_at or now),
                token_count=len(message.content.split()),
            )
            for message in batch
        ]
        home.messages.extend(stored)
        _conclude(home, stored, now)
        return stored

    def add_conclusions(
        self, workspace: str, batch: Iterable[bodies.Conclusion], now: datetime
    ) -> list[Conclusion]:
        """Store conclusions; whom they are about must exist."""
        conclusions = list(batch)
        for conclusion in conclusions:
            self.peer(workspace, conclusion.observer_id)
            self.peer(workspace, conclusion.observed_id)
            if conclusion.session_id is not None:
                self.session(workspace, conclusion.session_id)
        stored = [
            Conclusion(new_id(), c.content, c.observer_id, c.observed_id, c.session_id, now)
            for c in conclusions
        ]
        self.workspaces[workspace].conclusions.extend(stored)
        return stored

    def delete_conclusion(self, workspace: str, conclusion: str) -> None:
        """Delete one, or `NotFound`."""
        home = self.workspace(workspace)
        kept = [c for c in home.conclusions if c.id != conclusion]
        if len(kept) == len(home.conclusions):
            raise NotFound(
                f"Document {conclusion} not found or does not belong to workspace {workspace}"
            )
        home.conclusions = kept

    def delete_session(self, workspace: str, session: str) -> None:
        """Begin to delete a session."""
        self.session(workspace, session).is_active = False
        if self._at_once:
            self.finish_deletions()

    def delete_workspace(self, workspace: str) -> None:
        """Begin to delete a workspace: what is written from now on will be lost with it."""
        home = self.existing_workspace(workspace)
        if any(session.is_active for session in home.sessions.values()):
            raise Conflict(
                f"Cannot delete workspace '{workspace}': active session(s) remain. "
                "Delete all sessions first."
            )
        home.is_active = False
        if self._at_once:
            self.finish_deletions()

    def finish_deletions(self) -> None:
        """Carry out every deletion that has begun."""
        self.workspaces = {name: w for name, w in self.workspaces.items() if w.is_active}
        for home in self.workspaces.values():
            gone = {name for name, session in home.sessions.items() if not session.is_active}
            home.sessions = {n: s for n, s in home.sessions.items() if n not in gone}
            home.messages = [m for m in home.messages if m.session_id not in gone]
            home.conclusions = [c for c in home.conclusions if c.session_id not in gone]

    def _made(self, workspace: str, now: datetime) -> Workspace:
        _check_path_name(workspace)
        return self.make_workspace(bodies.Workspace(id=workspace), now)[0]


def new_id() -> str:
    """An id of the kind that Honcho generates: 21 characters of its grammar."""
    return secrets.token_urlsafe(16)[:21]


def nearest(items: Iterable[_T], query: str) -> list[_T]:
    """Those that share most words with a query first, otherwise in the given order."""
    return sorted(items, key=lambda item: -shared_words(item, query))


def shared_words(item: Message | Conclusion, query: str) -> int:
    """How many words of a query are in a text."""
    words = {word.lower() for word in _WORD.findall(query)}
    return sum(word in item.content.lower() for word in words)


def represent(conclusions: Sequence[Conclusion], query: str | None, limit: int) -> str:
    """Honcho's text: the newest conclusions, half of them near a query if there is one."""
    near = nearest(conclusions, query)[: (limit + 1) // 2] if query else []
    recent = [c for c in reversed(conclusions) if c not in near][: limit - len(near)]
    chosen = [c for c in conclusions if c in near or c in recent]
    lines = [f"[{c.created_at:%Y-%m-%d %H:%M:%S}] {c.content}\n" for c in chosen]
    return "## Explicit Observations\n\n" + "".join(lines) if lines else ""


def _now() -> datetime:
    return datetime.now(UTC)


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _check_path_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Unexpected(f"the database refuses the name {name!r}")


def _update(
    thing: Peer | Session, metadata: dict[str, Any] | None, configuration: dict[str, Any] | None
) -> None:
    if metadata is not None:
        thing.metadata = metadata
    if configuration is not None:
        thing.configuration = configuration


def _conclude(home: Workspace, messages: Iterable[Message], now: datetime) -> None:
    known = {(c.observer_id, c.observed_id, c.content) for c in home.conclusions}
    for message in messages:
        peer, text = message.peer_id, f"{message.peer_id} said: {message.content}"
        if home.observes(message) and (peer, peer, text) not in known:
            known.add((peer, peer, text))
            home.conclusions.append(Conclusion(new_id(), text, peer, peer, message.session_id, now))
