"""What the Honcho in memory shows beside the port, and where it is simpler than a real one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.adapters.in_memory.faults import Request
from honcho_memory.domain.errors import HonchoNotFound, HonchoUnavailable
from honcho_memory.domain.messages import Outgoing

SAID_AT = datetime(2020, 1, 1, tzinfo=UTC)
RECORDINGS = Path(__file__).parents[3] / "recordings"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 11, 30, 22, 51, 32, tzinfo=UTC).timestamp())


@pytest.fixture
def honcho(clock: ManualClock) -> InMemoryHoncho:
    return InMemoryHoncho(clock=clock)


def say(honcho: InMemoryHoncho, *contents: str, session: str = "s", author: str = "ada-1") -> None:
    batch = [Outgoing(each, author, each, SAID_AT, {"host_message_id": each}) for each in contents]
    honcho.add_messages("ws", session, batch, timeout=30)


def represent(honcho: InMemoryHoncho, query: str | None = None, *, most: int = 25) -> str:
    return honcho.representation("ws", "ada-1", max_conclusions=most, query=query, timeout=30)


def search(honcho: InMemoryHoncho, query: str, *, limit: int = 100) -> list[str]:
    found = honcho.search_messages("ws", query, limit=limit, timeout=30)
    return [each.content for each in found]


def recorded(name: str) -> Any:
    """What the real server answered."""
    return json.loads((RECORDINGS / name).read_text(encoding="utf-8"))["response"]["body"]


def test_represents_like_a_real_one(honcho: InMemoryHoncho) -> None:
    """A statement, although it was stored twice, is represented as a real server did."""
    say(honcho, "I moved to Lisbon in March.", "I moved to Lisbon in March.")

    assert recorded("19-representation.json")["representation"] == represent(honcho)


def test_a_statement_is_represented_for_each_who_made_it(honcho: InMemoryHoncho) -> None:
    """What somebody said is known of that peer, whoever else said the same."""
    say(honcho, "Hello", author="ada-1")
    say(honcho, "Hello", author="bob")

    text = honcho.representation("ws", "bob", max_conclusions=1, timeout=30)

    assert "bob said: Hello" in text
    assert "ada-1 said: Hello" in represent(honcho)


def test_conclusions_have_the_time_of_their_making(
    honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """Conclusions are dated by the clock, not by when a message was said."""
    say(honcho, "one")
    clock.advance(60)
    honcho.add_conclusion("ws", "ada-1", "two")

    assert (
        "## Explicit Observations\n\n"
        "[2026-11-30 22:51:32] ada-1 said: one\n"
        "[2026-11-30 22:52:32] two\n"
    ) == represent(honcho)


def test_a_query_prefers_what_shares_words(honcho: InMemoryHoncho) -> None:
    """What shares words with a query comes before what is newer, and stays in its order."""
    say(honcho, "I like green tea", "I own a boat", "TEA, always", "I play the piano")

    texts = [represent(honcho, "tea?", most=most) for most in (1, 2, 3)]

    assert [
        ["TEA, always"],
        ["I like green tea", "TEA, always"],
        ["I like green tea", "TEA, always", "I play the piano"],
    ] == [
        [line.partition("said: ")[2] for line in text.splitlines() if "said" in line]
        for text in texts
    ]


def test_searches_by_words(honcho: InMemoryHoncho) -> None:
    """The more and the longer the words that are shared, the better; then the newest."""
    say(honcho, "food in Porto", "my food", "nothing", "FOOD, in Lisbon!", "in")
    say(honcho, "anything", session="two")

    assert [
        "FOOD, in Lisbon!",
        "food in Porto",
        "my food",
        "in",
        "anything",
        "nothing",
    ] == search(honcho, "food in Lisbon")


def test_searches_without_words(honcho: InMemoryHoncho) -> None:
    """A query without a word finds the newest."""
    say(honcho, "one", "two", "three")

    assert ["three", "two"] == search(honcho, "?!", limit=2)


def test_ids_are_the_same_in_every_run() -> None:
    """Two runs that do the same give the same ids, so that a test can compare them."""
    ids: list[list[str]] = []
    for _ in range(2):
        honcho = InMemoryHoncho()
        say(honcho, "one", "two")
        honcho.add_conclusion("ws", "ada-1", "three")
        found = honcho.query_conclusions("ws", "ada-1", "three", limit=9, timeout=30)
        kept = honcho.messages("ws", "s")
        ids.append([*(each.id for each in kept), *(each.id for each in found)])

    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 5


def test_shows_what_it_holds(honcho: InMemoryHoncho) -> None:
    """Workspaces, sessions, messages and peers can be looked at, and looking creates nothing."""
    assert () == honcho.messages("ws", "s")
    assert () == honcho.sessions("ws")
    assert honcho.observes("ws", "ada-1") is None
    assert () == honcho.workspaces()

    say(honcho, "one", "two")
    say(honcho, "three", session="t")
    (message,) = honcho.messages("ws", "t")

    assert ("ws",) == honcho.workspaces()
    assert ("s", "t") == honcho.sessions("ws")
    assert ("three", "three", "ada-1", "t", SAID_AT) == (
        message.key,
        message.content,
        message.author,
        message.session,
        message.created_at,
    )
    assert {"host_message_id": "three"} == message.metadata


def test_shows_what_is_known_of_peers(honcho: InMemoryHoncho) -> None:
    """Conclusions, cards and metadata can be looked at, and looking creates nothing."""
    assert ((), None) == (honcho.card("ws", "ada-1"), honcho.metadata("ws", "ada-1"))
    assert () == honcho.conclusions("ws")
    assert () == honcho.workspaces()

    honcho.set_card("ws", "ada-1", ["Name: Ada"])
    honcho.add_conclusion("ws", "ada-1", "Likes tea", observer="bob")
    honcho.put_peer_metadata("ws", "ada-1", {"k": [1]}, timeout=30)

    assert (("Name: Ada",), {"k": [1]}) == (
        honcho.card("ws", "ada-1"),
        honcho.metadata("ws", "ada-1"),
    )
    assert [("bob", "ada-1", "Likes tea")] == [
        (each.observer, each.observed, each.content) for each in honcho.conclusions("ws")
    ]


def test_metadata_that_is_put_late_is_what_was_given(honcho: InMemoryHoncho) -> None:
    """A request on its way does not change with the object that it was made of."""
    late = honcho.faults.carry_out_later()
    metadata: dict[str, list[int]] = {"k": [1]}
    with pytest.raises(HonchoUnavailable):
        honcho.put_peer_metadata("ws", "ada-1", metadata, timeout=30)
    metadata["k"].append(2)

    late.release()

    assert {"k": [1]} == honcho.metadata("ws", "ada-1")


def test_peers_are_in_a_session_until_it_is_gone(honcho: InMemoryHoncho) -> None:
    """Who spoke in a session is still in it while it is being deleted."""
    say(honcho, "one")
    honcho.delete_session("ws", "s")
    while_it_is_deleted = honcho.session_peers("ws", "s", timeout=30)
    honcho.finish_deletions()

    assert (("ada-1",), ()) == (while_it_is_deleted, honcho.session_peers("ws", "s", timeout=30))


def test_a_key_is_text(honcho: InMemoryHoncho) -> None:
    """What stands in a key's place and is no text, or empty, is no key."""
    batch = [Outgoing("k", "ada-1", "x", SAID_AT, {"host_message_id": key}) for key in (1, "")]
    honcho.add_messages("ws", "s", batch, timeout=30)

    assert [None, None] == [each.key for each in honcho.messages("ws", "s")]


def test_keeps_a_batch_as_it_was(honcho: InMemoryHoncho) -> None:
    """What happens to a list or a mapping after it was handed over does not reach the store."""
    metadata: dict[str, str | int] = {"thread_id": "t"}
    batch = [Outgoing("k", "ada-1", "x", SAID_AT, metadata)]
    honcho.add_messages("ws", "s", batch, timeout=30)

    metadata.clear()
    batch.clear()

    assert [{"thread_id": "t"}] == [each.metadata for each in honcho.messages("ws", "s")]


def test_counts_requests(honcho: InMemoryHoncho) -> None:
    """Every call is noted with what it is about, so that tests can count requests."""
    say(honcho, "one", "two")
    honcho.find_messages("ws", "s", ["a", "b", "c"], timeout=30)
    honcho.configure_peer("ws", "bot", observe_me=False, timeout=30)
    represent(honcho)
    honcho.peer_card("ws", "ada-1", timeout=30)
    honcho.search_messages("ws", "x", limit=3, author="ada-1", timeout=30)
    search(honcho, "x")
    honcho.query_conclusions("ws", "ada-1", "x", limit=3, timeout=30)
    (created, _) = honcho.create_conclusions("ws", "ada-1", ["x", "y"], timeout=30)
    honcho.list_conclusions("ws", "ada-1", timeout=30)
    honcho.delete_conclusion("ws", created.id, timeout=30)
    honcho.peer_metadata("ws", "ada-1", timeout=30)
    honcho.put_peer_metadata("ws", "ada-1", {}, timeout=30)
    honcho.put_peer_card("ws", "ada-1", [], timeout=30)
    honcho.peer_sessions("ws", "ada-1", timeout=30)
    honcho.session_peers("ws", "s", timeout=30)

    assert [
        Request("add_messages", "ws", session="s", count=2),
        Request("find_messages", "ws", session="s", count=3),
        Request("configure_peer", "ws", peer="bot"),
        Request("representation", "ws", peer="ada-1"),
        Request("peer_card", "ws", peer="ada-1"),
        Request("search_messages", "ws", peer="ada-1"),
        Request("search_messages", "ws"),
        Request("query_conclusions", "ws", peer="ada-1"),
        Request("create_conclusions", "ws", peer="ada-1", count=2),
        Request("list_conclusions", "ws", peer="ada-1"),
        Request("delete_conclusion", "ws"),
        Request("peer_metadata", "ws", peer="ada-1"),
        Request("put_peer_metadata", "ws", peer="ada-1"),
        Request("put_peer_card", "ws", peer="ada-1"),
        Request("peer_sessions", "ws", peer="ada-1"),
        Request("session_peers", "ws", session="s"),
    ] == honcho.requests


def test_counts_requests_anew(honcho: InMemoryHoncho) -> None:
    """Requests can be forgotten, and a list that was taken before keeps them."""
    search(honcho, "x")
    before = honcho.requests
    honcho.forget_requests()

    assert ([], 1) == (honcho.requests, len(before))


def test_a_closed_one_gets_no_requests(honcho: InMemoryHoncho) -> None:
    """A call after closing reaches no server; what it holds can still be looked at."""
    say(honcho, "one")
    honcho.close()

    with pytest.raises(HonchoUnavailable):
        say(honcho, "two")

    assert len(honcho.requests) == 1
    assert ["one"] == [each.content for each in honcho.messages("ws", "s")]


def test_a_session_is_deleted_in_two_steps(honcho: InMemoryHoncho) -> None:
    """A session that is being deleted is still there, and cannot be deleted again."""
    say(honcho, "one")
    say(honcho, "two", session="t")
    honcho.delete_session("ws", "s")

    assert ("s", "t") == honcho.sessions("ws")
    with pytest.raises(HonchoNotFound):
        honcho.delete_session("ws", "s")

    honcho.finish_deletions()
    assert ("t",) == honcho.sessions("ws")
    with pytest.raises(HonchoNotFound):
        honcho.delete_session("ws", "s")


def test_set_up_creates_what_is_missing(honcho: InMemoryHoncho) -> None:
    """A test can begin with a card or a conclusion, without a conversation."""
    honcho.set_card("ws", "ada-1", ["Name: Ada"])
    honcho.add_conclusion("other", "ada-1", "Likes tea", observer="bob")

    assert (True, True) == (honcho.observes("ws", "ada-1"), honcho.observes("other", "bob"))


def test_a_conclusion_needs_its_session(honcho: InMemoryHoncho) -> None:
    """A conclusion cannot be drawn in a session that does not exist."""
    with pytest.raises(HonchoNotFound):
        honcho.add_conclusion("ws", "ada-1", "Likes tea", "s")

    assert () == honcho.workspaces()


def test_fails_on_a_bad_workspace(honcho: InMemoryHoncho) -> None:
    """A workspace id that Honcho does not allow is an error of the server to it."""
    with pytest.raises(HonchoUnavailable) as caught:
        honcho.configure_peer("a.b", "ada-1", observe_me=False, timeout=30)

    assert caught.value.status == 500
    assert () == honcho.workspaces()
