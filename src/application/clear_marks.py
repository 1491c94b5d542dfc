"""What is remembered of a memory that was cleared, until nothing of it can come back."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import cast

from honcho_memory.domain.identity import User
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.outbox import Lane, Outbox

LONGEST_DELETION = 3600.0
"""Seconds; a session that Honcho lists for longer after its deletion began was made anew."""


class ClearMarks:
    """Kept with the outbox, so that the processes of a machine share it.

    Two that write of one workspace at once may undo what the other wrote: then a memory that
    is being deleted shows for some seconds more, or hides for an hour at most.

    Every method may raise `OutboxUnavailable`.
    """

    def __init__(self, outbox: Outbox, server: str, clock: Clock) -> None:
        self._outbox = outbox
        self._server = server
        self._clock = clock

    def cleared_at(self, workspace: str, peer: str) -> float:
        """When a memory was last cleared on this machine; 0 for never."""
        return float(self._outbox.marked(self._server, f"cleared/{workspace}/{peer}") or 0)

    def note_cleared(self, user: User, at: float) -> None:
        """A memory is cleared: what was said until then is not to come back."""
        name = f"cleared/{user.workspace}/{user.peer}"
        self._outbox.mark(self._server, name, repr(at))

    def deleting(self, workspace: str, peer: str) -> dict[str, float]:
        """The sessions of a peer that Honcho may not have deleted yet, and since when."""
        return self._read(workspace).get(peer, {})

    def deleting_for_anybody(self, workspace: str) -> dict[str, float]:
        """The same, of all peers in the workspace."""
        merged: dict[str, float] = {}
        for sessions in self._read(workspace).values():
            merged |= sessions
        return merged

    def note_deleting(self, user: User, sessions: Collection[str], since: float) -> None:
        """Honcho begins to delete these."""
        peers = self._read(user.workspace)
        peers[user.peer] = peers.get(user.peer, {}) | dict.fromkeys(sessions, since)
        self._write(user.workspace, peers)

    def note_deleted(self, workspace: str, sessions: Collection[str]) -> None:
        """Honcho is done with these: it lists them no longer, or takes messages in them."""
        peers = {
            peer: {session: at for session, at in since.items() if session not in sessions}
            for peer, since in self._read(workspace).items()
        }
        self._write(workspace, {peer: left for peer, left in peers.items() if left})

    def note_arrival(self, lane: Lane) -> None:
        """Messages arrived in a session, so that it is none that is being deleted."""
        if lane.session in self.deleting_for_anybody(lane.workspace):
            self.note_deleted(lane.workspace, [lane.session])

    def _read(self, workspace: str) -> dict[str, dict[str, float]]:
        raw = self._outbox.marked(self._server, f"deleting/{workspace}")
        if not raw:
            return {}
        earliest = self._clock.time() - LONGEST_DELETION
        peers = cast("Mapping[str, Mapping[str, float]]", json.loads(raw))
        return {
            peer: {session: since for session, since in sessions.items() if since > earliest}
            for peer, sessions in peers.items()
        }

    def _write(self, workspace: str, peers: Mapping[str, Mapping[str, float]]) -> None:
        self._outbox.mark(self._server, f"deleting/{workspace}", json.dumps(peers) if peers else "")
