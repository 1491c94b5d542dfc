"""What the suites of DeerFlow's contract share: a host above, a server below."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

import pytest
from deerflow.agents.memory.manager import MemoryManager
from deerflow_host import Host, Message, Thread, ai, human, make_manager, resolve, tool

from honcho_memory.adapters.deerflow import HonchoMemoryManager
from honcho_memory.domain.identity import Identities
from honcho_memory.testing.strict_honcho import RunningServer

USER = "ada@example.org"
PATIENCE = 60.0
KEY = "sk-a-key-that-nobody-may-see"
BY_COLON = "honcho_memory.adapters.deerflow:HonchoMemoryManager"
BY_DOT = "honcho_memory.adapters.deerflow.HonchoMemoryManager"
FAIL_CLOSED = {"read": "fail_closed"}
NOBODY = [None, ""]


class Make(Protocol):
    """Makes a manager as DeerFlow does, with a writable folder and its hooks."""

    def __call__(
        self, backend_config: Mapping[str, Any] | None = ..., /, **more: Any
    ) -> HonchoMemoryManager: ...


class BrokenHoncho:
    """A Honcho whose adapter has a bug in every read, and no room for writes either."""

    def _fail(self, *_: object, **__: object) -> NoReturn:
        raise RuntimeError(f"what the user said, and {KEY}")

    add_messages = find_messages = configure_peer = _fail
    representation = peer_card = search_messages = query_conclusions = _fail

    def close(self) -> None:
        pass


def turn(number: int) -> list[Message]:
    """One turn with tools."""
    return [
        human(f"question {number}", f"h{number}"),
        ai("Let me look…", f"c{number}", tools=["web_search"]),
        tool("found", f"t{number}"),
        ai(f"answer {number}", f"a{number}"),
    ]


def said(turns: int) -> list[str]:
    """What belongs into memory of so many turns."""
    return [text for n in range(1, turns + 1) for text in (f"question {n}", f"answer {n}")]


async def run(host: Host, thread: Thread, number: int) -> None:
    """Run a turn, and wait until what was said in it is delivered."""
    await host.run(thread, *turn(number))
    await delivered(host.manager)


async def delivered(manager: MemoryManager) -> None:
    """Wait until everything is in Honcho."""
    assert await asyncio.to_thread(manager.shutdown_flush, PATIENCE)


def add(manager: HonchoMemoryManager, thread_id: str, *messages: object, user: str = USER) -> None:
    """Hand over messages, and wait until they are in Honcho."""
    manager.add(thread_id, messages, user_id=user)
    assert manager.shutdown_flush(PATIENCE)


def workspace(user: str = USER) -> str:
    """The user's workspace, by the rule of the settings' defaults."""
    who = Identities().user(user)
    assert who is not None
    return who.workspace


def peer(user: str = USER) -> str:
    """The user's peer, by the rule of the settings' defaults."""
    who = Identities().user(user)
    assert who is not None
    return who.peer


def stored(
    honcho_server: RunningServer, thread_id: str, *, user: str = USER, named: str | None = None
) -> list[tuple[str, str]]:
    """Who said what in a thread, as the server holds it."""
    session = Identities().session(thread_id)
    messages = honcho_server.state.messages(named or workspace(user), session)
    return [(message.peer_id, message.content) for message in messages]


def texts(honcho_server: RunningServer, thread_id: str) -> list[str]:
    """What was said in a thread, as the server holds it."""
    return [text for _, text in stored(honcho_server, thread_id)]


class DeerFlowSuite:
    """Managers as DeerFlow makes them, on a strict Honcho over a real socket."""

    @pytest.fixture
    def make(self, honcho_server: RunningServer, tmp_path: Path) -> Iterator[Make]:
        """Makes managers that talk to the server, and closes them."""
        made: list[HonchoMemoryManager] = []

        def make(
            backend_config: Mapping[str, Any] | None = None, /, **more: Any
        ) -> HonchoMemoryManager:
            config = {"base_url": honcho_server.url, **(backend_config or {})}
            manager = make_manager(resolve(BY_COLON), config, storage_path=tmp_path, **more)
            assert isinstance(manager, HonchoMemoryManager)
            made.append(manager)
            return manager

        yield make
        for manager in made:
            manager.close()
