"""Taking over a memory document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from honcho_memory import HonchoMemory, open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.domain.document import to_mapping
from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable, InvalidFact
from honcho_memory.domain.results import Imported, Skipped

BAD = "a word that Honcho refuses"


@pytest.fixture
def memory(honcho: InMemoryHoncho, clock: ManualClock) -> Iterator[HonchoMemory]:
    """A memory on that Honcho."""
    with open_memory(honcho=honcho, clock=clock) as memory:
        yield memory


def document(*contents: str, **more: Any) -> dict[str, Any]:
    """A document with these facts."""
    return {"facts": [{"content": content, **more} for content in contents]}


def facts(memory: HonchoMemory) -> set[tuple[str, str, float]]:
    """What is known, but for ids and times."""
    return {(fact.content, fact.category, fact.confidence) for fact in memory.facts("ada")}


def test_importing_twice_changes_nothing(memory: HonchoMemory) -> None:
    """What is there is left alone; within one document too."""
    given = document("Likes tea.", "Cycles.", "likes TEA.", category="habit", confidence=0.9)

    first = memory.import_document(given, user_id="ada")
    before = memory.facts("ada")
    second = memory.import_document(given, user_id="ada")

    assert (2, 1, ()) == (first.added, first.duplicates, first.skipped)
    assert set(before) == set(first.facts)
    assert (0, 3) == (second.added, second.duplicates)
    assert before == memory.facts("ada")
    assert {("Likes tea.", "habit", 0.9), ("Cycles.", "habit", 0.9)} == facts(memory)


def test_export_clear_import_export_is_the_same(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """But for ids and times, which Honcho gives."""
    memory.import_document(document("Likes tea.", category="habit"), user_id="ada")
    memory.add_fact("Cycles.", user_id="ada", confidence=0.9)
    before = facts(memory)
    exported = to_mapping(memory.export("ada"), honcho_time(honcho), budget=6000)

    memory.clear("ada")
    assert set() == facts(memory)
    memory.import_document(exported, user_id="ada")

    assert before == facts(memory)


def honcho_time(honcho: InMemoryHoncho) -> Any:
    """When the last fact was made."""
    return max(each.created_at for each in honcho.conclusions(honcho.workspaces()[0]))


def test_many_facts_go_in_batches_with_progress(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """A hundred a request, and somebody who waits is told how far it is."""
    steps: list[tuple[int, int]] = []

    imported = memory.import_document(
        document(*(f"fact {n}" for n in range(250))),
        user_id="ada",
        progress=lambda done, total: steps.append((done, total)),
    )

    assert 250 == imported.added == len(memory.facts("ada"))
    assert [(100, 250), (200, 250), (250, 250)] == steps
    assert 3 == sum(request.operation == "create_conclusions" for request in honcho.requests)


@pytest.mark.parametrize(("status", "is_named"), [(422, True), (422, False), (413, False)])
def test_what_honcho_refuses_is_skipped_and_named(
    clock: ManualClock, *, status: int, is_named: bool
) -> None:
    """Whether Honcho says which it is or not, the others are added."""

    class Picky(InMemoryHoncho):
        def create_conclusions(self, workspace: str, peer: str, contents: Any, **more: Any) -> Any:
            bad = {place: "no" for place, content in enumerate(contents) if BAD in content}
            if bad:
                raise HonchoRejected("no", status=status, refused=bad if is_named else {})
            return super().create_conclusions(workspace, peer, contents, **more)

    contents = [f"fact {n}" for n in range(20)]
    contents[7] = contents[13] = BAD
    contents[13] += " again"
    with open_memory(honcho=Picky(clock=clock), clock=clock) as memory:
        imported = memory.import_document(document(*contents, category="habit"), user_id="ada")

        assert (Skipped("facts[7]", "no"), Skipped("facts[13]", "no")) == imported.skipped
        assert 18 == imported.added == len(memory.facts("ada"))
    assert not memory.search("fact", user_id=None)


@pytest.mark.parametrize(
    "error", [HonchoUnavailable("down", status=500), HonchoRejected("x", status=409)]
)
def test_an_import_that_fails_can_be_taken_up_again(
    memory: HonchoMemory, honcho: InMemoryHoncho, error: Exception
) -> None:
    """What was added stays, with its category, and the rest is added then."""
    given = document(*(f"fact {n}" for n in range(150)), category="habit")
    failing = iter([False, True])

    def create(*args: Any, **more: Any) -> Any:
        if next(failing, False):
            raise error
        return InMemoryHoncho.create_conclusions(honcho, *args, **more)

    honcho.create_conclusions = create  # type: ignore[method-assign]
    with pytest.raises(type(error)):
        memory.import_document(given, user_id="ada")

    assert 50 == memory.import_document(given, user_id="ada").added
    assert {(f"fact {n}", "habit", 0.5) for n in range(150)} == facts(memory)


def test_what_nobody_has_categorized_takes_the_documents_word(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """An import that ended before its ledger was written is made whole by the next one."""
    added = memory.add_fact("Likes tea", user_id="ada", category="goal", confidence=0.9)
    put = honcho.put_peer_metadata

    def fail(*args: Any, **more: Any) -> None:
        raise HonchoRejected("x", status=409)

    honcho.put_peer_metadata = fail  # type: ignore[method-assign]
    given = document("Likes rye", "LIKES TEA", category="behavior", confidence=0.7)
    with pytest.raises(HonchoRejected):
        memory.import_document(given, user_id="ada")
    honcho.put_peer_metadata = put  # type: ignore[method-assign]

    imported = memory.import_document(given, user_id="ada")

    assert (0, 2) == (imported.added, imported.duplicates)
    assert {("Likes tea", "goal", 0.9), ("Likes rye", "behavior", 0.7)} == facts(memory)
    assert added.fact in imported.facts


def test_a_document_without_facts_is_imported(memory: HonchoMemory) -> None:
    """Nothing happens."""
    assert Imported() == memory.import_document({"facts": None, "user": {}}, user_id="ada")


def test_what_is_no_document_is_refused(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """Before anything is asked."""
    with pytest.raises(InvalidFact):
        memory.import_document("facts", user_id="ada")
    assert [] == honcho.requests
