"""Search: facts and messages, shared out and filtered."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.application.fact_store import FactStore
from honcho_memory.application.requests import Requests
from honcho_memory.application.searching import Searching
from honcho_memory.domain.errors import HonchoNotFound, HonchoUnavailable
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.messages import Outgoing
from honcho_memory.domain.results import Fact, Found, SaidMessage

ADA, BOB = User("shared", "ada"), User("shared", "bob")
SESSION = Identities().session("8f1a2c64")
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def say(honcho: InMemoryHoncho, author: str, *contents: str) -> None:
    """Store messages of one author."""
    messages = [Outgoing(f"{author}-{text}", author, text, NOW, {}) for text in contents]
    honcho.add_messages("shared", SESSION, messages, timeout=1)


@pytest.fixture(autouse=True)
def _known(honcho: InMemoryHoncho) -> None:
    for peer in (ADA.peer, BOB.peer):
        honcho.configure_peer("shared", peer, observe_me=False, timeout=1)
    say(honcho, ADA.peer, "food 1", "food 2", "food 3")
    say(honcho, BOB.peer, "food 4")
    for number in range(3):
        honcho.add_conclusion("shared", ADA.peer, f"likes food {number}", SESSION)
    honcho.add_conclusion("shared", BOB.peer, "hates food")
    honcho.forget_requests()


@pytest.fixture
def search(honcho: InMemoryHoncho, requests: Requests) -> Searching:
    """A search through the whole workspace."""
    return Searching(
        honcho, requests, FactStore(honcho, requests, Identities()), deadline=4, only_user=False
    )


def kinds(hits: Found) -> tuple[int, int]:
    """How many are facts, how many are messages."""
    facts = sum(isinstance(hit, Fact) for hit in hits)
    return facts, len(hits) - facts


@pytest.mark.parametrize(
    ("top_k", "expected"), [(1, (1, 0)), (4, (2, 2)), (5, (3, 2)), (7, (3, 4)), (1000, (3, 4))]
)
def test_at_most_half_are_facts_unless_messages_are_few(
    search: Searching, top_k: int, expected: tuple[int, int]
) -> None:
    """Half of the hits, rounded up, are facts; what one side lacks, the other fills up."""
    assert expected == kinds(search.search(ADA, "food", top_k=top_k))


def test_facts_fill_up_what_messages_lack(honcho: InMemoryHoncho, requests: Requests) -> None:
    """Where few messages were said, more facts are given."""
    honcho.add_conclusion("other", ADA.peer, "likes food")
    honcho.add_conclusion("other", ADA.peer, "likes wine")
    search = Searching(
        honcho, requests, FactStore(honcho, requests, Identities()), deadline=4, only_user=False
    )

    assert (2, 0) == kinds(search.search(User("other", ADA.peer), "food", top_k=2))


@pytest.mark.parametrize(("query", "top_k"), [("", 5), ("  ", 5), ("food", 0), ("food", -1)])
def test_asking_for_nothing_finds_nothing(
    search: Searching, honcho: InMemoryHoncho, query: str, top_k: int
) -> None:
    """Honcho would refuse such a search; it is not asked."""
    assert Found(is_asked=False) == search.search(ADA, query, top_k=top_k)
    assert [] == honcho.requests


@pytest.mark.parametrize(
    ("category", "expected"), [("memory", (0, 4)), ("context", (3, 0)), ("goal", (0, 0))]
)
def test_a_category_filters(search: Searching, category: str, expected: tuple[int, int]) -> None:
    """A category is a choice among hits, not a label for them."""
    assert expected == kinds(search.search(ADA, "food", top_k=5, category=category))


def test_a_fact_says_where_it_comes_from(search: Searching) -> None:
    """Its thread is read back from the session where that is certain."""
    (fact,) = search.search(ADA, "food", top_k=1, category="context")

    assert isinstance(fact, Fact)
    assert ("8f1a2c64", "context", 0.5) == (fact.thread_id, fact.category, fact.confidence)


def test_a_message_says_who_said_it_and_when(search: Searching) -> None:
    """Who shares a workspace on purpose finds everybody's messages there."""
    hits = search.search(ADA, "food", top_k=100, category="memory")

    assert {("ada", SESSION, NOW), ("bob", SESSION, NOW)} == {
        (hit.peer, hit.session, hit.created_at) for hit in hits if isinstance(hit, SaidMessage)
    }


def test_nobody_elses_facts_are_found(search: Searching) -> None:
    """Facts are about the user alone, shared workspace or not."""
    hits = search.search(ADA, "food", top_k=100)

    assert "hates food" not in [hit.content for hit in hits]


def test_a_search_can_be_kept_to_the_user(honcho: InMemoryHoncho, requests: Requests) -> None:
    """With `search_scope: user` nobody else's messages are found."""
    search = Searching(
        honcho, requests, FactStore(honcho, requests, Identities()), deadline=4, only_user=True
    )

    assert (3, 3) == kinds(search.search(ADA, "food", top_k=100))


def test_a_user_without_facts_has_none(search: Searching, honcho: InMemoryHoncho) -> None:
    """That Honcho does not know the user is no failure of the search."""
    honcho.faults.fail(HonchoNotFound("Peer ada not found"), operation="query_conclusions")

    assert (0, 4) == kinds(search.search(ADA, "food", top_k=100))


@pytest.mark.parametrize("operation", ["search_messages", "query_conclusions"])
def test_half_an_answer_is_none(search: Searching, honcho: InMemoryHoncho, operation: str) -> None:
    """A search of which one side failed has failed: it would mean less than it says."""
    honcho.faults.fail(
        HonchoUnavailable("failed", status=500),
        operation=operation,  # type: ignore[arg-type]
    )

    with pytest.raises(HonchoUnavailable):
        search.search(ADA, "food", top_k=5)
