"""Facts, looked through and changed, on a Honcho in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest

from honcho_memory import HonchoMemory, open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.application import facts
from honcho_memory.domain.errors import (
    DuplicateFact,
    HonchoMemoryError,
    HonchoProtocolError,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnavailable,
    InvalidFact,
    NoUser,
    UnknownFact,
)

WORKSPACE, PEER = "shared", "ada"
SETTINGS = {"workspace_overrides": {"ada": "shared"}, "user_peer_overrides": {"ada": "ada"}}


@pytest.fixture
def memory(honcho: InMemoryHoncho, clock: ManualClock) -> Iterator[HonchoMemory]:
    """A memory of Ada on that Honcho."""
    with open_memory(SETTINGS, honcho=honcho, clock=clock) as memory:
        yield memory


def contents(memory: HonchoMemory) -> list[str]:
    """What the facts say, newest first."""
    return [fact.content for fact in memory.facts("ada")]


def test_a_fact_is_added_and_found(memory: HonchoMemory) -> None:
    """With its category and confidence, under the id that was given back."""
    added = memory.add_fact(" Likes tea. ", user_id="ada", category="habit", confidence=0.9)

    (fact,) = memory.facts("ada")
    assert fact == added.fact
    assert ("Likes tea.", "habit", 0.9) == (fact.content, fact.category, fact.confidence)
    assert (fact,) == added.facts


def test_a_plain_fact_takes_no_room_in_the_metadata(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """It has nothing beyond its conclusion."""
    memory.add_fact("Likes tea.", user_id="ada")

    assert not honcho.metadata(WORKSPACE, PEER)


@pytest.mark.parametrize("again", ["Likes tea.", " LIKES TEA. "])
def test_a_fact_is_not_added_twice(memory: HonchoMemory, again: str) -> None:
    """Neither when a model or a user tries to."""
    memory.add_fact("Likes tea.", user_id="ada")

    with pytest.raises(DuplicateFact):
        memory.add_fact(again, user_id="ada")
    assert ["Likes tea."] == contents(memory)


def test_an_update_keeps_what_is_left_out(memory: HonchoMemory, clock: ManualClock) -> None:
    """The fact is the same one: its id and time stay, however often it is changed."""
    fact = memory.add_fact("Likes tea.", user_id="ada", category="habit", confidence=0.9).fact
    for content in ("Likes coffee.", "Likes water."):
        clock.advance(60)
        memory.update_fact(fact.id, user_id="ada", content=content)

    (found,) = memory.facts("ada")
    assert (fact.id, fact.created_at) == (found.id, found.created_at)
    assert ("Likes water.", "habit", 0.9) == (found.content, found.category, found.confidence)


def test_an_update_of_the_rest_keeps_the_conclusion(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """Category and confidence are not Honcho's."""
    fact = memory.add_fact("Likes tea.", user_id="ada").fact
    before = honcho.conclusions(WORKSPACE)

    changed = memory.update_fact(fact.id, user_id="ada", category="habit", confidence=1)

    assert before == honcho.conclusions(WORKSPACE)
    assert (changed.fact,) == memory.facts("ada")
    memory.update_fact(fact.id, user_id="ada", content="likes TEA.")
    assert ["likes TEA."] == contents(memory)


def test_a_fact_of_a_thread_keeps_its_source(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """An edit does not hide where it came from."""
    memory.remember("8f1a2c64", [{"role": "user", "id": "1", "content": "I cycle."}], user_id="ada")
    assert memory.flush(30)
    (derived,) = memory.facts("ada")

    memory.update_fact(derived.id, user_id="ada", content="Cycles.")

    assert "8f1a2c64" == memory.facts("ada")[0].thread_id


def test_a_duplicate_is_not_made_by_an_update(memory: HonchoMemory) -> None:
    """Two facts would say the same."""
    memory.add_fact("Likes tea.", user_id="ada")
    fact = memory.add_fact("Cycles.", user_id="ada").fact

    with pytest.raises(DuplicateFact):
        memory.update_fact(fact.id, user_id="ada", content="likes tea.")
    assert {"Likes tea.", "Cycles."} == set(contents(memory))


def test_a_fact_is_deleted(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """With what was kept of it in the metadata."""
    fact = memory.add_fact("Likes tea.", user_id="ada", category="habit").fact
    memory.update_fact(fact.id, user_id="ada", content="Likes coffee.")

    assert (fact.id, ()) == (
        (deleted := memory.delete_fact(fact.id, user_id="ada")).fact.id,
        deleted.facts,
    )
    assert () == honcho.conclusions(WORKSPACE)
    assert not honcho.metadata(WORKSPACE, PEER)


def test_what_does_not_exist_cannot_be_changed(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """And nobody is created by the question."""
    for change in (memory.delete_fact, memory.update_fact):
        with pytest.raises(UnknownFact, match="no fact 'nonsense'"):
            change("nonsense", user_id="ada")
    assert () == honcho.workspaces()
    memory.add_fact("Likes tea.", user_id="ada")
    with pytest.raises(UnknownFact):
        memory.delete_fact("nonsense", user_id="ada")


def test_only_the_users_own_conclusions_are_facts(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """In a shared workspace somebody else's id is unknown, and so is what others conclude."""
    memory.add_fact("Likes tea.", user_id="ada")
    honcho.configure_peer(WORKSPACE, "bob", observe_me=True, timeout=1)
    honcho.add_conclusion(WORKSPACE, "bob", "Likes beer.")
    honcho.add_conclusion(WORKSPACE, PEER, "Is watched.", observer="bob")
    others = [each for each in honcho.conclusions(WORKSPACE) if each.observer == "bob"]

    assert ["Likes tea."] == contents(memory)
    for other in others:
        with pytest.raises(UnknownFact):
            memory.delete_fact(other.id, user_id="ada")
    assert 3 == len(honcho.conclusions(WORKSPACE))


@pytest.mark.parametrize("step", ["create_conclusions", "put_peer_metadata", "delete_conclusion"])
def test_an_update_that_fails_half_way_leaves_the_fact_findable(
    memory: HonchoMemory, honcho: InMemoryHoncho, step: str
) -> None:
    """Under its id, once, and trying again finishes the change."""
    fact = memory.add_fact("Likes tea.", user_id="ada", category="habit").fact
    honcho.faults.fail(HonchoUnavailable("down", status=500), operation=step, times=1)  # type: ignore[arg-type]

    with pytest.raises(HonchoUnavailable):
        memory.update_fact(fact.id, user_id="ada", content="Likes coffee.")

    assert [fact.id] == [each.id for each in memory.facts("ada")]
    memory.update_fact(fact.id, user_id="ada", content="Likes coffee.")
    assert [(fact.id, "Likes coffee.")] == [(each.id, each.content) for each in memory.facts("ada")]
    assert 1 == len(honcho.conclusions(WORKSPACE))


def test_an_update_whose_answer_is_lost_loses_nothing(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """The new conclusion may be the fact's already, so it is not taken back."""
    fact = memory.add_fact("Likes tea.", user_id="ada", category="habit").fact
    honcho.faults.lose_answer(operation="put_peer_metadata")

    with pytest.raises(HonchoUnavailable):
        memory.update_fact(fact.id, user_id="ada", content="Likes coffee.")

    assert [(fact.id, "Likes coffee.")] == [(each.id, each.content) for each in memory.facts("ada")]


@pytest.mark.parametrize(
    ("operation", "is_carried_out"),
    [
        ("create_conclusions", True),
        ("create_conclusions", False),
        ("peer_metadata", False),
        ("put_peer_metadata", True),
        ("put_peer_metadata", False),
        ("delete_conclusion", False),
    ],
)
@pytest.mark.parametrize("error", ["lost", "down", "500", "no Honcho"])
def test_whatever_fails_an_edit_can_be_made_again(
    memory: HonchoMemory,
    honcho: InMemoryHoncho,
    clock: ManualClock,
    operation: Any,
    error: str,
    *,
    is_carried_out: bool,
) -> None:
    """The fact is found under its id all the time, and at the end it is one fact."""
    fact = memory.add_fact("Likes tea.", user_id="ada", category="habit", confidence=0.9).fact
    errors: dict[str, HonchoRequestError] = {
        "down": HonchoUnavailable("down", status=503),
        "500": HonchoUnavailable("broken", status=500),
        "no Honcho": HonchoProtocolError("HTML"),
    }
    call = getattr(honcho, operation)

    def fail(*args: Any, **more: Any) -> NoReturn:
        setattr(honcho, operation, call)
        if is_carried_out:
            call(*args, **more)
        raise errors.get(error) or HonchoUnavailable("lost", outcome_unknown=True)

    setattr(honcho, operation, fail)
    with pytest.raises(HonchoRequestError):
        memory.update_fact(fact.id, user_id="ada", content="Likes coffee.")
    clock.advance(60)
    assert fact.id in {each.id for each in memory.facts("ada")}

    memory.update_fact(fact.id, user_id="ada", content="Likes coffee.")

    assert [(fact.id, "Likes coffee.", "habit", 0.9)] == [
        (each.id, each.content, each.category, each.confidence) for each in memory.facts("ada")
    ]
    assert 1 == len(honcho.conclusions(WORKSPACE))


def test_a_fact_whose_addition_failed_can_be_added_again(
    memory: HonchoMemory, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """What was left of the first try is no duplicate, and the category is not lost."""
    memory.add_fact("Cycles.", user_id="ada")
    honcho.faults.fail(
        HonchoUnavailable("down", status=503), operation="put_peer_metadata", times=1
    )
    with pytest.raises(HonchoUnavailable):
        memory.add_fact("Likes tea.", user_id="ada", category="habit")
    clock.advance(60)

    added = memory.add_fact("Likes tea.", user_id="ada", category="habit")

    assert ("Likes tea.", "habit") == (added.fact.content, added.fact.category)
    assert ["Likes tea.", "Cycles."] == contents(memory)


def test_only_so_many_failures_are_remembered(
    memory: HonchoMemory, honcho: InMemoryHoncho, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory does not grow with users; the oldest has to delete the stray fact by hand."""
    monkeypatch.setattr(facts, "MOST_UNSETTLED", 1)
    for user in ("bob", "eve"):
        honcho.faults.lose_answer(operation="create_conclusions")
        with pytest.raises(HonchoUnavailable):
            memory.add_fact("Likes tea.", user_id=user)

    with pytest.raises(DuplicateFact):
        memory.add_fact("Likes tea.", user_id="bob")
    assert "Likes tea." == memory.add_fact("Likes tea.", user_id="eve").fact.content


def test_what_an_edit_gives_is_kept_when_it_is_the_default(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """Importing a document again does not undo what the user has changed since."""
    document = {"facts": [{"content": "Likes tea.", "category": "habit", "confidence": 0.9}]}
    memory.import_document(document, user_id="ada")
    (fact,) = memory.facts("ada")
    memory.update_fact(fact.id, user_id="ada", category="context", confidence=0.5)

    memory.import_document(document, user_id="ada")

    (fact,) = memory.facts("ada")
    assert ("context", 0.5) == (fact.category, fact.confidence)


def test_an_edit_of_the_rest_takes_the_content_as_it_is(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """A conclusion of Honcho's may hold what nobody could add."""
    honcho.add_conclusion(WORKSPACE, PEER, " ")
    (fact,) = memory.facts("ada")

    assert 0.9 == memory.update_fact(fact.id, user_id="ada", confidence=0.9).fact.confidence


def test_a_fact_that_cannot_get_its_category_is_not_added(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """All of it or nothing, where it is known that it failed."""
    honcho.faults.fail(HonchoUnavailable("down", status=500), operation="put_peer_metadata")

    with pytest.raises(HonchoUnavailable):
        memory.add_fact("Likes tea.", user_id="ada", category="habit")

    assert () == honcho.conclusions(WORKSPACE)


def test_what_honcho_refuses_is_no_fact(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """It counts tokens, which we do not."""
    honcho.faults.fail(
        HonchoRejected("refused", status=422, said="8,192 tokens"), operation="create_conclusions"
    )

    with pytest.raises(InvalidFact, match="refused by Honcho: 8,192 tokens"):
        memory.add_fact("Likes tea.", user_id="ada")


def test_a_change_is_recalled_at_once(memory: HonchoMemory) -> None:
    """What is kept of earlier answers is dropped with every change."""
    fact = memory.add_fact("Likes tea.", user_id="ada").fact
    assert "Likes tea." in memory.recall("ada").text
    memory.update_fact(fact.id, user_id="ada", content="Likes coffee.")
    assert "Likes coffee." in memory.recall("ada").text
    memory.delete_fact(fact.id, user_id="ada")
    assert "" == memory.recall("ada").text


def test_all_facts_are_listed_whatever_the_pages(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """Hundreds of them, on several pages."""
    memory.add_fact("The first.", user_id="ada")
    for number in range(250):
        honcho.add_conclusion(WORKSPACE, PEER, f"fact {number}")

    assert 251 == len(memory.facts("ada"))


def test_facts_are_found_by_their_category_and_id(memory: HonchoMemory) -> None:
    """The tools change what a search finds, by the id that it gives."""
    fact = memory.add_fact("Likes tea.", user_id="ada", category="habit").fact
    memory.update_fact(fact.id, user_id="ada", content="Likes green tea.")
    memory.add_fact("Drinks tea daily.", user_id="ada")

    habits = memory.search("tea", user_id="ada", category="habit")
    plain = memory.search("tea", user_id="ada", category="context")

    assert [(fact.id, "Likes green tea.")] == [(hit.id, hit.content) for hit in habits]
    assert ["Drinks tea daily."] == [hit.content for hit in plain]
    assert 2 == len(memory.search("tea", user_id="ada"))
    assert 0 == len(memory.search("tea", user_id="ada", category="goal"))


def test_facts_of_no_category_are_found_behind_many_others(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """A category is asked for, it is not what is left of the nearest."""
    facts = [{"content": f"tea tea tea {number}", "category": "habit"} for number in range(120)]
    memory.import_document({"facts": facts}, user_id="ada")
    memory.add_fact("Once had tea at sea.", user_id="ada")

    found = memory.search("tea tea tea", user_id="ada", category="context")

    assert ["Once had tea at sea."] == [hit.content for hit in found]


def test_a_search_creates_nobody(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """Whatever the category."""
    for category in (None, "context", "habit"):
        assert 0 == len(memory.search("tea", user_id="ada", category=category))
    assert () == memory.facts("ada")
    assert () == honcho.workspaces()


@pytest.mark.parametrize("nobody", [None, ""])
def test_nobody_has_no_facts_to_change(memory: HonchoMemory, nobody: str | None) -> None:
    """A management call says so instead of doing nothing."""
    for call in (
        lambda: memory.facts(nobody),
        lambda: memory.export(nobody),
        lambda: memory.add_fact("x", user_id=nobody),
        lambda: memory.update_fact("x", user_id=nobody),
        lambda: memory.delete_fact("x", user_id=nobody),
        lambda: memory.import_document({}, user_id=nobody),
        lambda: memory.clear(nobody),
    ):
        with pytest.raises(NoUser):
            call()
    with pytest.raises(HonchoMemoryError, match="a user id is a string"):
        memory.facts(5)  # type: ignore[arg-type]


def test_changes_at_once_do_not_undo_each_other(honcho: InMemoryHoncho, clock: ManualClock) -> None:
    """Of one user, from many threads and two memories of one process."""
    with (
        open_memory(SETTINGS, honcho=honcho, clock=clock) as one,
        open_memory(SETTINGS, honcho=honcho, clock=clock) as other,
        ThreadPoolExecutor(8) as pool,
    ):

        def add(number: int) -> None:
            memory = (one, other)[number % 2]
            memory.add_fact(f"fact {number}", user_id="ada", category=f"category {number}")

        list(pool.map(add, range(40)))
        facts = one.facts("ada")

    assert {(f"fact {n}", f"category {n}") for n in range(40)} == {
        (fact.content, fact.category) for fact in facts
    }


def test_the_document_says_all(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """What is kept of earlier answers is read again on demand."""
    assert memory.document(None).facts == ()
    fact = memory.add_fact("Likes tea.", user_id="ada").fact
    honcho.set_card(WORKSPACE, PEER, ["Name: Ada"])

    document = memory.document("ada")

    assert ((fact,), ("Name: Ada",)) == (document.facts, document.card)
    assert "Likes tea." in document.representation
    honcho.set_card(WORKSPACE, PEER, ["Name: Ada Lovelace"])
    assert ("Name: Ada",) == memory.document("ada").card
    assert ("Name: Ada Lovelace",) == memory.document("ada", reload=True).card


def test_an_export_is_never_empty_for_want_of_an_answer(
    memory: HonchoMemory, honcho: InMemoryHoncho
) -> None:
    """A document, which is shown, may be; it says why."""
    memory.add_fact("Likes tea.", user_id="ada")
    honcho.faults.fail(HonchoUnavailable("down", status=500), operation="list_conclusions", times=2)

    assert "down" in str(memory.document("ada").error)
    with pytest.raises(HonchoUnavailable):
        memory.export("ada")
    assert 1 == len(memory.export("ada").facts)
