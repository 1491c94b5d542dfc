"""What a Honcho holds, and the rules by which it changes. Not safe to use from many threads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

from honcho_memory.adapters.in_memory.limits import without_nul
from honcho_memory.domain.errors import HonchoNotFound, HonchoRejected
from honcho_memory.domain.messages import Conclusion, Outgoing, StoredMessage

MESSAGE_KEY = "host_message_id"
"""The name of a message's key in its metadata."""

_CONFLICT = 409
_NOT_FOUND = 404
_ID_LENGTH = 21


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message as it is kept.

    Attributes:
        id: Honcho's own id.
        author: The peer id of who said it.
        session: The session id.
        content: The text.
        created_at: When it was said, in UTC.
        metadata: As whoever stored it gave it.
    """

    id: str
    author: str
    session: str
    content: str
    created_at: datetime
    metadata: Mapping[str, str | int]

    @property
    def key(self) -> str | None:
        """What it can be found by; None when whoever stored it gave no text for it."""
        key = self.metadata.get(MESSAGE_KEY)
        return key if isinstance(key, str) and key else None

    def has_one_of(self, keys: Collection[str], *, or_none: bool) -> bool:
        """Whether a look-up by these keys finds it; an asterisk among them finds everything."""
        key = self.metadata.get(MESSAGE_KEY)
        return "*" in keys or key in keys or (or_none and key in {None, ""})

    def stored(self) -> StoredMessage:
        """As the core sees it."""
        return StoredMessage(
            self.id, self.key, self.author, self.session, self.content, self.created_at
        )


@dataclass(frozen=True, slots=True)
class KeptConclusion:
    """What an observer has concluded about a peer."""

    id: str
    content: str
    observer: str
    observed: str
    session: str | None
    created_at: datetime

    def conclusion(self) -> Conclusion:
        """As the core sees it."""
        return Conclusion(self.id, self.content, self.observer, self.session, self.created_at)


@dataclass(slots=True)
class Peer:
    """A person or an agent."""

    observe_me: bool = True
    card: tuple[str, ...] = ()
    metadata: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(slots=True)
class Session:
    """A conversation; not active while it is being deleted.

    Attributes:
        members: The peers that spoke in it, in the order in which they began to.
    """

    is_active: bool = True
    members: dict[str, None] = field(default_factory=dict[str, None])


@dataclass(slots=True)
class Workspace:
    """What belongs together, in the order of its creation."""

    peers: dict[str, Peer] = field(default_factory=dict[str, Peer])
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    messages: list[KeptMessage] = field(default_factory=list[KeptMessage])
    conclusions: list[KeptConclusion] = field(default_factory=list[KeptConclusion])

    def make_peer(self, name: str) -> Peer:
        """Get or create."""
        return self.peers.setdefault(name, Peer())

    def of_session(self, session: str) -> list[KeptMessage]:
        """The messages of a session."""
        return [message for message in self.messages if message.session == session]

    def own_conclusions(self, peer: str) -> list[KeptConclusion]:
        """What a peer has concluded about itself."""
        return [each for each in self.conclusions if each.observer == each.observed == peer]

    def finish_deletions(self) -> None:
        """Remove the sessions that are no longer active, with what was derived in them."""
        gone = {name for name, session in self.sessions.items() if not session.is_active}
        self.sessions = {n: session for n, session in self.sessions.items() if n not in gone}
        self.messages = [each for each in self.messages if each.session not in gone]
        self.conclusions = [each for each in self.conclusions if each.session not in gone]


class Store:
    """The workspaces."""

    def __init__(self) -> None:
        self.workspaces: dict[str, Workspace] = {}
        self._numbers = count(1)

    def workspace(self, name: str) -> Workspace:
        """For reading: one that does not exist is empty."""
        return self.workspaces.get(name) or Workspace()

    def delete_workspace(self, name: str) -> None:
        """Remove a workspace.

        Raises:
            HonchoNotFound: There is none.
            HonchoRejected: It has sessions that nobody has begun to delete.
        """
        if name not in self.workspaces:
            raise HonchoNotFound(
                "Honcho refuses", status=_NOT_FOUND, said=f"Workspace {name} not found"
            )
        if any(session.is_active for session in self.workspaces[name].sessions.values()):
            raise HonchoRejected(
                "Honcho refuses",
                status=_CONFLICT,
                said=f"Cannot delete workspace '{name}': active session(s) remain.",
            )
        del self.workspaces[name]

    def make_workspace(self, name: str) -> Workspace:
        """Get or create."""
        return self.workspaces.setdefault(name, Workspace())

    def make_session(self, workspace: str, name: str) -> Session:
        """Get or create.

        Raises:
            HonchoNotFound: It is being deleted.
        """
        self.make_workspace(workspace).sessions.setdefault(name, Session())
        return self.session(workspace, name)

    def session(self, workspace: str, name: str) -> Session:
        """An active session.

        Raises:
            HonchoNotFound: It does not exist, or is being deleted.
        """
        session = self.workspace(workspace).sessions.get(name)
        if session is None or not session.is_active:
            raise HonchoNotFound(
                "Honcho refuses",
                status=_NOT_FOUND,
                said=f"Session {name} not found in workspace {workspace}",
            )
        return session

    def add_messages(
        self, workspace: str, session: str, batch: Sequence[Outgoing], now: datetime
    ) -> None:
        """Store messages with what they need, and conclude what there is to conclude."""
        members = self.make_session(workspace, session).members
        home = self.make_workspace(workspace)
        for message in batch:
            members.setdefault(message.author)
            observed = home.make_peer(message.author).observe_me
            kept = KeptMessage(
                id=self._new_id(),
                author=message.author,
                session=session,
                content=without_nul(message.content),
                created_at=message.created_at.astimezone(UTC),
                metadata=_storable(message.metadata),
            )
            home.messages.append(kept)
            if observed:
                self._conclude(home, kept, now)

    def add_conclusion(
        self,
        workspace: str,
        observed: str,
        content: str,
        now: datetime,
        *,
        observer: str,
        session: str | None,
    ) -> None:
        """Store a conclusion with the peers that it needs."""
        if session is not None:
            self.session(workspace, session)
        home = self.make_workspace(workspace)
        home.make_peer(observer)
        home.make_peer(observed)
        home.conclusions.append(
            KeptConclusion(self._new_id(), without_nul(content), observer, observed, session, now)
        )

    def create_conclusions(
        self, workspace: str, peer: str, contents: Sequence[str], now: datetime
    ) -> list[KeptConclusion]:
        """Store what a peer is to have concluded about itself.

        Raises:
            HonchoNotFound: There is no such peer.
        """
        home = self.workspace(workspace)
        if peer not in home.peers:
            raise HonchoNotFound(
                "Honcho refuses",
                status=_NOT_FOUND,
                said=f"Peer {peer} not found in workspace {workspace}",
            )
        created = [
            KeptConclusion(self._new_id(), without_nul(content), peer, peer, None, now)
            for content in contents
        ]
        home.conclusions += created
        return created

    def delete_conclusion(self, workspace: str, conclusion_id: str) -> None:
        """Remove a conclusion.

        Raises:
            HonchoNotFound: There is none.
        """
        home = self.workspace(workspace)
        kept = [each for each in home.conclusions if each.id != conclusion_id]
        if len(kept) == len(home.conclusions):
            raise HonchoNotFound(
                "Honcho refuses",
                status=_NOT_FOUND,
                said=f"Document {conclusion_id} not found in workspace {workspace}",
            )
        home.conclusions = kept

    def _conclude(self, home: Workspace, message: KeptMessage, now: datetime) -> None:
        """Conclude that the author said it, unless that is known."""
        author, content = message.author, f"{message.author} said: {message.content}"
        if all(each.content != content for each in home.own_conclusions(author)):
            home.conclusions.append(
                KeptConclusion(self._new_id(), content, author, author, message.session, now)
            )

    def _new_id(self) -> str:
        """As long as one of Honcho's, and the same in every run."""
        return f"{next(self._numbers):0{_ID_LENGTH}}"


def _storable(metadata: Mapping[str, str | int]) -> dict[str, str | int]:
    return {
        without_nul(name): without_nul(value) if isinstance(value, str) else value
        for name, value in metadata.items()
    }
