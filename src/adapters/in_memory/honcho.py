"""The Honcho port in memory, for tests and demos."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence

from honcho_memory.adapters.in_memory import limits
from honcho_memory.adapters.in_memory.faults import Request
from honcho_memory.adapters.in_memory.management import InMemoryManagement
from honcho_memory.adapters.in_memory.nearness import nearest, nearest_in_order
from honcho_memory.adapters.in_memory.server import page_of
from honcho_memory.adapters.in_memory.store import KeptConclusion, KeptMessage
from honcho_memory.domain.messages import Conclusion, Outgoing, StoredMessage
from honcho_memory.ports.administration import Health
from honcho_memory.ports.honcho import MessagePage

_HEADING = "## Explicit Observations\n\n"


class InMemoryHoncho(InMemoryManagement):
    """A Honcho server and the way to it, in the memory of this process.

    It has the limits of a real one and refuses what that refuses. Three things are simpler: what
    an observed peer says is a conclusion at once, word for word; what is near a text shares words
    with it; and a session that is being deleted is so until `finish_deletions` is called.

        honcho = InMemoryHoncho()
        honcho.set_card("workspace", "alice", ["Name: Alice"])
        honcho.faults.fail(HonchoUnavailable("Honcho is down", status=503), times=3)
        ...                                            # let the code under test use it
        assert ["Hello"] == [each.content for each in honcho.messages("workspace", "session")]

    Attributes:
        faults: How it is to fail.

    Args:
        clock: Gives conclusions their time.
    """

    def add_messages(
        self, workspace: str, session: str, messages: Sequence[Outgoing], *, timeout: float
    ) -> None:
        """See `MessageStore.add_messages`."""
        batch = tuple(messages)

        def carry_out() -> None:
            limits.check_batch(batch)
            limits.check_address(workspace, session)
            self._store.add_messages(workspace, session, batch, self._now())

        request = Request("add_messages", workspace, session=session, count=len(batch))
        self._ask(request, carry_out, timeout)

    def find_messages(
        self,
        workspace: str,
        session: str,
        keys: Sequence[str],
        *,
        or_without_key: bool = False,
        page: int = 1,
        timeout: float,
    ) -> MessagePage:
        """See `MessageStore.find_messages`."""
        wanted = frozenset(keys)

        def carry_out() -> MessagePage:
            found = [
                message.stored()
                for message in self._store.workspace(workspace).of_session(session)
                if message.has_one_of(wanted, or_none=or_without_key)
            ]
            return MessagePage(*page_of(found, page))

        request = Request("find_messages", workspace, session=session, count=len(keys))
        return self._ask(request, carry_out, timeout)

    def configure_peer(
        self, workspace: str, peer: str, *, observe_me: bool, timeout: float
    ) -> None:
        """See `MessageStore.configure_peer`."""

        def carry_out() -> None:
            self._made_peer(workspace, peer).observe_me = observe_me

        self._ask(Request("configure_peer", workspace, peer=peer), carry_out, timeout)

    def representation(
        self,
        workspace: str,
        peer: str,
        *,
        max_conclusions: int,
        query: str | None = None,
        timeout: float,
    ) -> str:
        """See `MemoryReads.representation`."""

        def carry_out() -> str:
            limits.check_limit(max_conclusions)
            limits.check_query(query or "")
            own = self._store.workspace(workspace).own_conclusions(peer)
            return _represent(nearest_in_order(own, query or "", max_conclusions))

        return self._ask(Request("representation", workspace, peer=peer), carry_out, timeout)

    def peer_card(self, workspace: str, peer: str, *, timeout: float) -> tuple[str, ...]:
        """See `MemoryReads.peer_card`."""

        def carry_out() -> tuple[str, ...]:
            found = self._store.workspace(workspace).peers.get(peer)
            return found.card if found else ()

        return self._ask(Request("peer_card", workspace, peer=peer), carry_out, timeout)

    def search_messages(
        self,
        workspace: str,
        query: str,
        *,
        limit: int,
        author: str | None = None,
        timeout: float,
    ) -> tuple[StoredMessage, ...]:
        """See `MemoryReads.search_messages`."""

        def carry_out() -> tuple[StoredMessage, ...]:
            limits.check_limit(limit)
            limits.check_query(query)
            messages = self._store.workspace(workspace).messages
            said = [each for each in messages if author in {None, each.author}]
            return tuple(message.stored() for message in nearest(said, query, limit))

        return self._ask(Request("search_messages", workspace, peer=author), carry_out, timeout)

    def query_conclusions(
        self,
        workspace: str,
        peer: str,
        query: str,
        *,
        limit: int,
        ids: Collection[str] | None = None,
        timeout: float,
    ) -> tuple[Conclusion, ...]:
        """See `MemoryReads.query_conclusions`."""

        def carry_out() -> tuple[Conclusion, ...]:
            limits.check_limit(limit)
            limits.check_query(query)
            own = self._store.workspace(workspace).own_conclusions(peer)
            wanted = own if ids is None else [each for each in own if each.id in ids]
            return tuple(each.conclusion() for each in nearest(wanted, query, limit))

        return self._ask(Request("query_conclusions", workspace, peer=peer), carry_out, timeout)

    def health(self, *, timeout: float) -> Health:
        """See `Administration.health`."""
        return self._ask(Request("health", ""), lambda: Health(self._now()), timeout)

    def delete_session(self, workspace: str, session: str, *, timeout: float = 1.0) -> None:
        """See `Administration.delete_session`; `finish_deletions` ends it."""

        def carry_out() -> None:
            self._store.session(workspace, session).is_active = False

        self._ask(Request("delete_session", workspace, session=session), carry_out, timeout)

    def delete_workspace(self, workspace: str, *, timeout: float = 1.0) -> None:
        """See `Administration.delete_workspace`; done at once."""

        def carry_out() -> None:
            self._store.delete_workspace(workspace)

        self._ask(Request("delete_workspace", workspace), carry_out, timeout)

    def workspaces(self) -> tuple[str, ...]:
        """The ids of the workspaces."""
        with self._lock:
            return tuple(self._store.workspaces)

    def sessions(self, workspace: str) -> tuple[str, ...]:
        """The ids of a workspace's sessions, those included that are being deleted."""
        with self._lock:
            return tuple(self._store.workspace(workspace).sessions)

    def messages(self, workspace: str, session: str) -> tuple[KeptMessage, ...]:
        """The messages of a session in the order in which they were stored."""
        with self._lock:
            return tuple(self._store.workspace(workspace).of_session(session))

    def observes(self, workspace: str, peer: str) -> bool | None:
        """Whether conclusions are drawn about a peer; None for an unknown one."""
        with self._lock:
            found = self._store.workspace(workspace).peers.get(peer)
            return None if found is None else found.observe_me

    def conclusions(self, workspace: str) -> tuple[KeptConclusion, ...]:
        """The conclusions of a workspace, whoever drew them about whomever, oldest first."""
        with self._lock:
            return tuple(self._store.workspace(workspace).conclusions)

    def card(self, workspace: str, peer: str) -> tuple[str, ...]:
        """The lines of a peer's card; empty for an unknown one."""
        with self._lock:
            found = self._store.workspace(workspace).peers.get(peer)
            return found.card if found else ()

    def metadata(self, workspace: str, peer: str) -> dict[str, object] | None:
        """A peer's metadata; None for an unknown one."""
        with self._lock:
            found = self._store.workspace(workspace).peers.get(peer)
            return copy.deepcopy(found.metadata) if found else None

    def set_card(self, workspace: str, peer: str, lines: Sequence[str]) -> None:
        """Give a peer a card; creates what is missing."""
        with self._lock:
            self._store.make_workspace(workspace).make_peer(peer).card = tuple(lines)

    def add_conclusion(
        self,
        workspace: str,
        peer: str,
        content: str,
        session: str | None = None,
        *,
        observer: str | None = None,
    ) -> None:
        """Add a conclusion about a peer; creates the peers that are missing.

        Args:
            workspace: Where.
            peer: Whom it is about.
            content: The statement.
            session: Where it was drawn, if in a session.
            observer: Who drew it; None for the peer itself.

        Raises:
            HonchoNotFound: There is no such session.
        """
        with self._lock:
            self._store.add_conclusion(
                workspace, peer, content, self._now(), observer=observer or peer, session=session
            )

    def finish_deletions(self) -> None:
        """Remove what is being deleted, with the conclusions that were drawn from it."""
        with self._lock:
            for workspace in self._store.workspaces.values():
                workspace.finish_deletions()


def _represent(conclusions: Sequence[KeptConclusion]) -> str:
    """A line for each."""
    lines = [f"[{each.created_at:%Y-%m-%d %H:%M:%S}] {each.content}\n" for each in conclusions]
    return _HEADING + "".join(lines) if lines else ""
