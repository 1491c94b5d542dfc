"""The ways to remember through Honcho that are compared."""

from __future__ import annotations

import importlib
from collections.abc import Sized
from pathlib import Path
from typing import Any, Protocol

import httpx

from honcho_memory import HonchoMemory, Settings, open_memory
from honcho_memory.domain.identity import User
from support.talking import Turn

OURS, SDK, FIVE = "honcho-memory", "honcho-ai SDK", "five requests"
NAMES: tuple[str, ...] = (OURS, SDK, FIVE)
IDENTITIES = Settings().identities()
"""Of all ways alike: DeerFlow's backend has the same rules."""
CONCLUSIONS = 25
FOUND = 5
PATIENCE = 60.0


class Way(Protocol):
    """A way to remember: the caller waits for `say`, `recall` and `search`."""

    def say(self, turn: Turn) -> None:
        """Store a turn, or hand it over to be stored."""
        ...

    def settle(self) -> None:
        """Wait until Honcho holds all that was said."""
        ...

    def recall(self) -> str:
        """What is known of the user."""
        ...

    def search(self, query: str) -> Sized:
        """Something near a text."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Ours:
    """This library with an outbox on disk, handed the whole thread every turn as by DeerFlow."""

    def __init__(self, url: str, user: str, folder: Path, **settings: object) -> None:
        self._user = user
        configured = {"base_url": url, "storage_path": str(folder), **settings}
        self.memory: HonchoMemory = open_memory(configured)

    def say(self, turn: Turn) -> None:
        self.memory.remember(turn.thread, turn.history, user_id=self._user)

    def settle(self) -> None:
        assert self.memory.flush(PATIENCE)

    def recall(self) -> str:
        return self.memory.recall(self._user).text

    def search(self, query: str) -> Sized:
        return self.memory.search(query, user_id=self._user, top_k=FOUND)

    def close(self) -> None:
        self.memory.close()


class Sdk:
    """The official SDK as its documentation shows it, by a host that knows what is new in a turn.

    The host keeps its client and its peers, and a session for as long as the thread goes on.
    """

    def __init__(self, url: str, user: str) -> None:
        # By name, since the SDK brings no types.
        honcho = importlib.import_module("honcho")
        identity = identity_of(user)
        self._client: Any = honcho.Honcho(base_url=url, workspace_id=identity.workspace)
        self._user: Any = self._client.peer(identity.peer)
        self._authors = {
            "user": self._user,
            "assistant": self._client.peer(IDENTITIES.assistant_peer),
        }
        self._sessions: dict[str, Any] = {}

    def say(self, turn: Turn) -> None:
        session = self._sessions.get(turn.thread)
        if session is None:
            session = self._client.session(IDENTITIES.session(turn.thread))
            self._sessions[turn.thread] = session
        session.add_messages(
            [self._authors[each["role"]].message(each["content"]) for each in turn.new]
        )

    def settle(self) -> None:
        """What was said is stored."""

    def recall(self) -> str:
        """Representation and card in one call, which is what ours gives too."""
        context = self._user.context(max_conclusions=CONCLUSIONS)
        return "\n".join([*(context.peer_card or []), context.representation or ""])

    def search(self, query: str) -> Sized:
        found: Sized = self._client.search(query, limit=FOUND)
        return found

    def close(self) -> None:
        """It is closed with its HTTP client, which is collected with it."""


class FiveRequests:
    """DeerFlow's built-in backend: five requests a turn, the whole history in the last of them.

    What fails is dropped, and the agent goes on.
    """

    def __init__(self, url: str, user: str) -> None:
        timeout = httpx.Timeout(10.0, connect=3.0)
        self._client = httpx.Client(base_url=url, timeout=timeout)
        self._identity = identity_of(user)
        self._workspace = f"/v3/workspaces/{self._identity.workspace}"

    def say(self, turn: Turn) -> None:
        session, user, assistant = (
            IDENTITIES.session(turn.thread),
            self._identity.peer,
            IDENTITIES.assistant_peer,
        )
        authors = {"user": user, "assistant": assistant}
        batch = [
            {"peer_id": authors[each["role"]], "content": each["content"][:8000]}
            for each in turn.history
        ]
        try:
            self._post("/peers", {"id": user})
            self._post("/peers", {"id": assistant})
            self._post("/sessions", {"id": session})
            self._post(f"/sessions/{session}/peers", {user: {}, assistant: {}})
            self._post(f"/sessions/{session}/messages", {"messages": batch})
        except httpx.HTTPError:
            return

    def settle(self) -> None:
        """What was said is stored, or dropped."""

    def recall(self) -> str:
        path = f"/peers/{self._identity.peer}/representation"
        try:
            answer = self._post(path, {"max_conclusions": CONCLUSIONS})
        except httpx.HTTPError:
            return ""
        text: str = answer["representation"]
        return text

    def search(self, query: str) -> Sized:
        found: Sized = self._post("/search", {"query": query, "limit": FOUND})
        return found

    def close(self) -> None:
        self._client.close()

    def _post(self, path: str, body: object) -> Any:
        return self._client.post(self._workspace + path, json=body).raise_for_status().json()


def identity_of(user: str) -> User:
    """The workspace and the peer of a user."""
    identity = IDENTITIES.user(user)
    assert identity is not None
    return identity
