"""A memory that can be read and never written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from honcho_memory import (
    HonchoMemory,
    HonchoUnavailable,
    Profile,
    ReadOnlyMemoryError,
    open_memory,
)
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.ports.host import Memory

WRITES: dict[str, Callable[[Memory], object]] = {
    "set_profile": lambda memory: memory.set_profile(Profile("Ada"), user_id="ada"),
    "add_fact": lambda memory: memory.add_fact("Likes tea", user_id="ada"),
    "update_fact": lambda memory: memory.update_fact("id", user_id="ada", content="Likes mate"),
    "delete_fact": lambda memory: memory.delete_fact("id", user_id="ada"),
    "import_document": lambda memory: memory.import_document({"facts": []}, user_id="ada"),
    "clear": lambda memory: memory.clear("ada"),
}
SAID = [{"role": "user", "id": "m1", "content": "I am only passing through."}]


@pytest.fixture
def memory(honcho: InMemoryHoncho, clock: ManualClock) -> Iterator[HonchoMemory]:
    """A memory on that Honcho, with one fact."""
    with open_memory(honcho=honcho, clock=clock) as memory:
        memory.add_fact("Likes tea", user_id="ada")
        yield memory


def test_it_is_read_as_the_memory_behind_it(memory: HonchoMemory) -> None:
    """Whoever composes a greeting sees what the chat's agent has learned."""
    view: Memory = memory.read_only()

    assert "Likes tea" in view.recall("ada").text
    assert ["Likes tea"] == [hit.content for hit in view.search("tea", user_id="ada")]
    assert memory.document("ada") == view.document("ada") == view.export("ada")
    assert memory.facts("ada") == view.facts("ada")
    assert memory.profile("ada") == view.profile("ada")


def test_nothing_is_remembered_through_it(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """A scheduled run hands over its messages as every run does, and nothing comes of it."""
    view = memory.read_only()

    assert 0 == view.remember("t", SAID, user_id="ada")
    view.remember_nowait("t", SAID, user_id="ada")

    assert view.flush(1)
    assert memory.flush(5)
    assert 0 == memory.stats().accepted


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_nothing_is_changed_through_it(
    memory: HonchoMemory, honcho: InMemoryHoncho, write: Callable[[Memory], object]
) -> None:
    """Whoever tries is told, and Honcho is not asked."""
    before = len(honcho.requests)

    with pytest.raises(ReadOnlyMemoryError, match="read only"):
        write(memory.read_only())

    assert before == len(honcho.requests)


def test_closing_it_closes_nothing(memory: HonchoMemory) -> None:
    """The memory behind it goes on."""
    view = memory.read_only()

    view.warm()
    view.close()

    assert "Likes tea" in view.recall("ada").text
    assert 1 == memory.remember("t", SAID, user_id="ada")


def test_it_knows_whether_honcho_can_be_used(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """As the memory behind it does."""
    view = memory.read_only()
    assert view.is_usable()

    honcho.faults.fail(HonchoUnavailable("Honcho is down", status=503), times=None)
    view.recall("ada", query="tea")

    assert not view.is_usable()
    honcho.faults.clear()
