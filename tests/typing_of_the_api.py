"""What type checkers know of the public API; checked by mypy and pyright, never run."""

from __future__ import annotations

from typing import TypedDict, assert_type

from honcho_memory import (
    Changed,
    Cleared,
    Document,
    Fact,
    Found,
    HonchoMemory,
    Memory,
    Message,
    Outcome,
    Profile,
    Recall,
    SaidMessage,
    Settings,
    Stats,
    open_memory,
)
from honcho_memory.adapters.deerflow import HonchoMemoryManager
from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.adapters.langchain import HonchoMemoryMiddleware
from honcho_memory.domain.errors import HonchoMemoryError
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.outbox import Outbox
from honcho_memory.testing import MakeOutbox


class Context(TypedDict):
    """What a host knows of a run."""

    user_id: str


def a_memory() -> None:
    """It is opened from a mapping, or from settings, and is what hosts are to ask for."""
    assert_type(open_memory(), HonchoMemory)
    open_memory({"base_url": "http://localhost:8000", "recall": {"fresh_seconds": 0}})
    open_memory(Settings(), honcho=InMemoryHoncho())
    memory: Memory = open_memory()
    with open_memory() as opened:
        assert_type(opened, HonchoMemory)
        assert_type(opened.stats(), Stats)
        memory = opened.read_only()
    open_memory({"base_url": 8000})
    open_memory("http://localhost:8000")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    del memory


def reading(memory: Memory) -> None:
    """What was asked for and what went wrong are told apart by type."""
    recall = memory.recall("ada", query="tea")
    assert_type(recall, Recall)
    assert_type(recall.text, str)
    assert_type(recall.outcome, Outcome)
    assert_type(recall.error, HonchoMemoryError | None)
    found = memory.search("tea", user_id="ada")
    assert_type(found, Found)
    for hit in found:
        assert_type(hit, Fact | SaidMessage)
    memory.recall(None)
    memory.search("tea")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def remembering(memory: Memory, messages: list[Message]) -> None:
    """Messages are mappings or objects of any kind."""
    assert_type(memory.remember("t", messages, user_id="ada"), int)
    memory.remember("t", [{"role": "user", "content": "Hello"}], user_id=None)


def managing(memory: Memory, profile: Profile) -> None:
    """Changes say what they changed."""
    assert_type(memory.facts("ada"), tuple[Fact, ...])
    assert_type(memory.add_fact("x", user_id="ada"), Changed)
    assert_type(memory.clear("ada"), Cleared)
    assert_type(memory.export("ada"), Document)
    memory.set_profile(profile, user_id="ada")


def adapting(memory: Memory, honcho: InMemoryHoncho, make_outbox: MakeOutbox) -> None:
    """Adapters are what the ports ask for."""
    port: Honcho = honcho
    outbox: Outbox = make_outbox(max_messages=1)
    HonchoMemoryMiddleware[Context](memory, user_id=lambda context: context["user_id"])
    assert_type(HonchoMemoryManager.from_config(None).close(), None)
    del port, outbox
