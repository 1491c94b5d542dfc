"""Recall: asked for once, kept for a while, and no worse than it has to be."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.application import recalling
from honcho_memory.application.recalling import Recalling, RecallRules, clean_query
from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import ServerState
from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable
from honcho_memory.domain.identity import User
from honcho_memory.domain.messages import Outgoing
from honcho_memory.domain.results import Outcome

ADA, BOB = User("ws-ada", "ada"), User("ws-bob", "bob")
DOWN = HonchoUnavailable("Honcho is down", status=503)


@pytest.fixture(autouse=True)
def _known(honcho: InMemoryHoncho) -> None:
    honcho.add_conclusion(ADA.workspace, ADA.peer, "lives in Lisbon")
    honcho.add_conclusion(ADA.workspace, ADA.peer, "eats no meat")
    honcho.set_card(ADA.workspace, ADA.peer, ["Name: Ada"])
    honcho.add_conclusion(BOB.workspace, BOB.peer, "lives in Porto")


@pytest.fixture
def rules() -> RecallRules:
    """The defaults."""
    return RecallRules()


@pytest.fixture
def recall(
    rules: RecallRules, honcho: InMemoryHoncho, requests: Requests, clock: ManualClock
) -> Recalling:
    """Recall under the test's clock."""
    return Recalling(rules, honcho, requests, clock)


def test_card_and_conclusions_make_one_text(recall: Recalling) -> None:
    """The card comes first, then what was concluded."""
    result = recall.recall(ADA)

    assert Outcome.COLD is result.outcome
    assert result.error is None
    assert ["- Name: Ada"] == [line for line in str(result).splitlines() if "Name" in line]
    assert result.text.index("Name: Ada") < result.text.index("lives in Lisbon")


def test_an_unknown_user_is_nobody_we_know(recall: Recalling, honcho: InMemoryHoncho) -> None:
    """Nothing is known, nothing is wrong, and nothing is created."""
    before = honcho.workspaces()

    assert "" == recall.recall(User("elsewhere", "eve")).text
    assert before == honcho.workspaces()


def test_a_fresh_answer_costs_no_request(
    recall: Recalling, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """Within `fresh` seconds the same answer is given again, after that it is asked for."""
    first = recall.recall(ADA)
    honcho.forget_requests()
    clock.advance(29)

    again = recall.recall(ADA)
    assert replace(first, outcome=Outcome.FRESH) == again
    assert [] == honcho.requests

    clock.advance(1)
    assert Outcome.COLD is recall.recall(ADA).outcome


def test_nothing_known_is_asked_again(recall: Recalling, honcho: InMemoryHoncho) -> None:
    """A user of whom nothing was known a moment ago may be known now."""
    eve = User("elsewhere", "eve")
    assert "" == recall.recall(eve).text
    honcho.add_conclusion(eve.workspace, eve.peer, "likes tea")

    assert "likes tea" in recall.recall(eve).text


def test_users_do_not_share_answers(recall: Recalling) -> None:
    """What is kept for one user is never given for another."""
    recall.recall(ADA)

    assert "Porto" in recall.recall(BOB).text
    assert "Lisbon" not in recall.recall(BOB).text


def test_a_query_is_a_question_of_its_own(
    honcho: InMemoryHoncho, requests: Requests, clock: ManualClock
) -> None:
    """What the memory is wanted for reaches Honcho, and the answer is kept for that only."""
    recall = Recalling(RecallRules(max_conclusions=1), honcho, requests, clock)

    assert "eats no meat" in recall.recall(ADA, "what meat does she eat?").text
    assert "lives in Lisbon" in recall.recall(ADA, "where in Lisbon?").text
    assert Outcome.FRESH is recall.recall(ADA, "where in Lisbon?").outcome


def test_the_last_good_answer_stands_in(
    recall: Recalling, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """With Honcho down the last answer is given while it is young enough, and marked."""
    first = recall.recall(ADA)
    honcho.faults.fail(DOWN, times=None)
    clock.advance(86_399)

    stale = recall.recall(ADA)

    assert (first.text, Outcome.STALE) == (stale.text, stale.outcome)
    assert isinstance(stale.error, HonchoUnavailable)
    clock.advance(1)
    with pytest.raises(HonchoUnavailable):
        recall.recall(ADA)


def test_an_answer_to_another_question_stands_in(
    recall: Recalling, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """No two queries are alike; what was last known of the user is better than nothing."""
    recall.recall(ADA)
    clock.advance(1)
    newest = recall.recall(ADA, "what meat does she eat?")
    recall.recall(BOB)
    honcho.faults.fail(DOWN, times=None)

    stale = recall.recall(ADA, "where does she live?")

    assert (newest.text, Outcome.STALE) == (stale.text, stale.outcome)


def test_what_is_no_longer_known_does_not_stand_in(
    recall: Recalling, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """Once Honcho has said that it knows nothing, nothing older is given for its answer."""
    eve = User("ws-eve", "eve")
    said = Outgoing("q1", eve.peer, "likes tea", datetime(2026, 12, 1, tzinfo=UTC), {})
    honcho.add_messages(eve.workspace, "s", [said], timeout=1)
    assert "likes tea" in recall.recall(eve).text
    assert "likes tea" in recall.recall(eve, "tea").text
    honcho.delete_session(eve.workspace, "s")
    honcho.finish_deletions()
    clock.advance(60)
    assert "" == recall.recall(eve).text
    honcho.faults.fail(DOWN, times=None)

    for query in (None, "tea"):
        with pytest.raises(HonchoUnavailable):
            recall.recall(eve, query)


def test_a_change_during_an_outage_is_respected(recall: Recalling, honcho: InMemoryHoncho) -> None:
    """What was dropped while a request was under way does not stand in when that fails."""
    recall.recall(ADA)
    hanging = honcho.faults.hang(operation="representation")
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(recall.recall, ADA, "meat")
        hanging.wait_until_hit()
        recall.forget(ADA)
        hanging.release()

        assert isinstance(result.exception(), HonchoUnavailable)


def test_without_an_answer_the_failure_is_raised(recall: Recalling, honcho: InMemoryHoncho) -> None:
    """There is nothing to stand in for a user who was never asked about."""
    honcho.faults.fail(DOWN, operation="representation")

    with pytest.raises(HonchoUnavailable, match="down"):
        recall.recall(ADA)


def test_the_card_alone_does_not_cost_the_recall(recall: Recalling, honcho: InMemoryHoncho) -> None:
    """What Honcho concluded is worth having without the card."""
    honcho.faults.fail(HonchoRejected("no", status=400), operation="peer_card")

    result = recall.recall(ADA)

    assert "lives in Lisbon" in result.text
    assert "Name: Ada" not in result.text


def test_a_card_that_cannot_be_had_is_the_one_of_last_time(
    recall: Recalling, honcho: InMemoryHoncho, clock: ManualClock
) -> None:
    """A good answer is not replaced by half of one."""
    recall.recall(ADA)
    clock.advance(30)
    honcho.add_conclusion(ADA.workspace, ADA.peer, "moved to Faro")
    honcho.faults.fail(HonchoUnavailable("failed", status=500), operation="peer_card")

    text = recall.recall(ADA).text

    assert "Name: Ada" in text
    assert "Faro" in text


def test_half_an_answer_with_nothing_in_it_is_a_failure(
    recall: Recalling, honcho: InMemoryHoncho
) -> None:
    """Whether anything is known cannot be told without the card."""
    honcho.faults.fail(HonchoUnavailable("failed", status=500), operation="peer_card")

    with pytest.raises(HonchoUnavailable):
        recall.recall(User("elsewhere", "eve"))


def test_the_first_recall_after_an_outage_is_whole(
    recall: Recalling, honcho: InMemoryHoncho, clock: ManualClock, state: ServerState
) -> None:
    """The one request that tries does not lock out the one beside it."""
    honcho.faults.fail(DOWN, times=2)
    with pytest.raises(HonchoUnavailable):
        recall.recall(ADA)
    honcho.faults.clear()
    clock.advance(state.pause())

    text = recall.recall(ADA).text

    assert "Name: Ada" in text
    assert "Lisbon" in text


def test_what_is_kept_is_bounded(
    honcho: InMemoryHoncho, requests: Requests, clock: ManualClock
) -> None:
    """An answer of megabytes is cut to what can ever be shown of it, the newest end kept."""
    for number in range(100):
        honcho.add_conclusion("big", "big", f"{number} " + "x" * 200)
    honcho.set_card("big", "big", ["y" * 5_000, "z"])
    rules = RecallRules(max_conclusions=100, budget=300)
    recall = Recalling(rules, honcho, requests, clock)

    assert "99 x" in recall.recall(User("big", "big")).text
    (kept,) = recall._kept.values()
    assert len(kept.answer.representation) <= 3_000
    assert ("y" * 3_000,) == kept.answer.card


def test_the_card_can_be_switched_off(
    honcho: InMemoryHoncho, requests: Requests, clock: ManualClock
) -> None:
    """Without it a recall is one request."""
    recall = Recalling(RecallRules(peer_card=False), honcho, requests, clock)

    assert "Ada" not in recall.recall(ADA).text
    assert ["representation"] == [request.operation for request in honcho.requests]


def test_recalls_of_one_user_share_a_request(recall: Recalling, honcho: InMemoryHoncho) -> None:
    """Many threads that begin at once ask once, and all get the answer."""
    held = honcho.faults.hold(operation="representation")
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(recall.recall, ADA)
        held.wait_until_hit()
        others = [pool.submit(recall.recall, ADA) for _ in range(7)]
        held.release()
        texts = {result.result().text for result in (first, *others)}

    assert 1 == len(texts)
    asked = [request for request in honcho.requests if request.operation == "representation"]
    assert 1 == len(asked)


def test_recalls_of_one_user_share_a_failure(recall: Recalling, honcho: InMemoryHoncho) -> None:
    """Who waits for somebody else's request learns that it failed."""
    hanging = honcho.faults.hang(operation="representation")
    started = threading.Barrier(2)

    def second() -> None:
        started.wait()
        recall.recall(ADA)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(recall.recall, ADA)
        hanging.wait_until_hit()
        other = pool.submit(second)
        started.wait()
        hanging.release()

        with pytest.raises(HonchoUnavailable):
            first.result()
        assert other.exception() is None or isinstance(other.exception(), HonchoUnavailable)


def test_who_waits_does_not_wait_longer_than_the_deadline(
    honcho: InMemoryHoncho, requests: Requests, clock: ManualClock
) -> None:
    """A request of somebody else's that hangs costs no more than one's own."""
    recall = Recalling(RecallRules(deadline=0.0), honcho, requests, clock)
    own = recall._asking.setdefault((ADA, ""), Future())

    with pytest.raises(HonchoUnavailable, match="in time"):
        recall.recall(ADA)

    assert not own.done()


def test_a_change_is_seen_at_once(recall: Recalling, honcho: InMemoryHoncho) -> None:
    """After a user's memory was changed nothing older is given, for that user alone."""
    recall.recall(ADA)
    recall.recall(BOB)
    honcho.add_conclusion(ADA.workspace, ADA.peer, "moved to Faro")

    recall.forget(ADA)

    assert "Faro" in recall.recall(ADA).text
    assert Outcome.FRESH is recall.recall(BOB).outcome


def test_an_answer_from_before_a_change_is_not_kept(
    recall: Recalling, honcho: InMemoryHoncho
) -> None:
    """A request that was under way during the change may have seen what was before it."""
    held = honcho.faults.hold(operation="representation")
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(recall.recall, ADA)
        held.wait_until_hit()
        recall.forget(ADA)
        held.release()
        result.result()

    assert Outcome.COLD is recall.recall(ADA).outcome


def test_only_so_many_answers_are_kept(recall: Recalling, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with the number of users; the longest unasked goes first."""
    monkeypatch.setattr(recalling, "REMEMBERED_ANSWERS", 1)
    recall.recall(ADA)
    recall.recall(BOB)

    assert Outcome.FRESH is recall.recall(BOB).outcome
    assert Outcome.COLD is recall.recall(ADA).outcome


def test_a_query_is_made_acceptable() -> None:
    """What Honcho would refuse in a query does not reach it."""
    assert "<| endoftext |> \ufffd" == clean_query(" <|endoftext|> \ud83d\0 ")
    assert recalling.LONGEST_QUERY == len(clean_query("x" * 10_000))
