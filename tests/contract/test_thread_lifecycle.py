"""The life of a thread, over a real socket: each message is stored once and in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from threads import Raw, said, store_as_builtin, transcript, turn

from honcho_memory import HonchoMemory, MessageReader, open_memory
from honcho_memory.domain.identity import Identities
from honcho_memory.testing.strict_honcho import RunningServer

USER, THREAD = "ada@example.org", "8f1a2c64-7d0e-4b8e-9a56-3c1f0e7b2d10"
WHO = Identities().user(USER)
SESSION = Identities().session(THREAD)
assert WHO is not None
WORKSPACE, PEER = WHO.workspace, WHO.peer
PATIENCE = 60.0


def memory_at(honcho_server: RunningServer, **settings: object) -> HonchoMemory:
    """A memory of DeerFlow's messages on that server."""
    return open_memory(
        {"base_url": honcho_server.url, **settings}, reader=MessageReader(id_suffix="__user")
    )


def hand_over(memory: HonchoMemory, messages: Sequence[Raw]) -> None:
    """Hand over a thread's state, and wait until it is delivered."""
    memory.remember(THREAD, messages, user_id=USER)
    assert memory.flush(PATIENCE)


def stored(honcho_server: RunningServer) -> list[str]:
    """What the server holds of the thread, seen from outside."""
    return [message.content for message in honcho_server.state.messages(WORKSPACE, SESSION)]


def test_a_long_thread_is_stored_once_in_a_request_a_turn(honcho_server: RunningServer) -> None:
    """Fifty turns, the whole thread handed over each time, are a hundred messages."""
    with memory_at(honcho_server) as memory:
        hand_over(memory, transcript(THREAD, 1))
        honcho_server.forget_requests()
        for turns in range(2, 51):
            hand_over(memory, transcript(THREAD, turns))

    assert said(50) == stored(honcho_server)
    assert 49 == len(honcho_server.requests)


@pytest.mark.parametrize("keeps_disk", [True, False])
def test_a_restart_changes_nothing(
    honcho_server: RunningServer, tmp_path: Path, keeps_disk: bool
) -> None:
    """After a restart, on the same disk or on a fresh one, the thread simply goes on."""
    for part, folder in enumerate(("one", "one" if keeps_disk else "two")):
        with memory_at(honcho_server, storage_path=str(tmp_path / folder)) as memory:
            for turns in range(1 + 5 * part, 6 + 5 * part):
                hand_over(memory, transcript(THREAD, turns))

    assert said(10) == stored(honcho_server)


def test_a_summarization_removes_nothing_from_memory(honcho_server: RunningServer) -> None:
    """Early messages are handed over once more before they go, and are not stored again."""
    with memory_at(honcho_server) as memory:
        for turns in range(1, 31):
            hand_over(memory, transcript(THREAD, turns))
        whole = transcript(THREAD, 31)
        memory.remember_nowait(THREAD, whole[:40], user_id=USER)
        summary: Raw = {"type": "human", "name": "summary", "id": "s1", "content": "So far…"}
        hand_over(memory, [summary, *whole[40:]])
        hand_over(memory, [summary, *whole[40:], *turn(THREAD, 32)])

    assert said(32) == stored(honcho_server)


def test_old_messages_whose_keys_are_forgotten_are_asked_for(honcho_server: RunningServer) -> None:
    """Losing what is known costs a question, not a duplicate."""
    with memory_at(honcho_server) as memory:
        for turns in range(1, 41):
            hand_over(memory, transcript(THREAD, turns))
        hand_over(memory, transcript(THREAD, 5))

    assert said(40) == stored(honcho_server)


def test_a_regenerated_answer_is_stored_beside_the_first(honcho_server: RunningServer) -> None:
    """The question keeps its id, even when the host adds its suffix late; the answer is new."""
    with memory_at(honcho_server) as memory:
        hand_over(memory, transcript(THREAD, 2))
        again = [
            *transcript(THREAD, 1),
            {"type": "human", "id": f"{THREAD}-h2__user", "content": ["question 2"]},
            {"type": "ai", "id": "new", "content": "another answer"},
        ]
        hand_over(memory, again)

    assert [*said(2), "another answer"] == stored(honcho_server)


def test_an_edited_question_is_stored_with_its_answer(honcho_server: RunningServer) -> None:
    """An edit is a new message with a new id, after what is known."""
    with memory_at(honcho_server) as memory:
        hand_over(memory, transcript(THREAD, 2))
        edited = [
            *transcript(THREAD, 1),
            {"type": "human", "id": "edited", "content": "question 2, but better"},
            {"type": "ai", "id": "new", "content": "a better answer"},
        ]
        hand_over(memory, edited)

    assert [*said(2), "question 2, but better", "a better answer"] == stored(honcho_server)


def test_the_same_words_twice_are_two_messages(honcho_server: RunningServer) -> None:
    """A second honest "yes" has an id of its own and is stored."""
    yes: list[Raw] = [
        {"type": "human", "id": "y1", "content": "yes"},
        {"type": "human", "id": "y2", "content": "yes"},
    ]
    with memory_at(honcho_server) as memory:
        hand_over(memory, yes)

    assert ["yes", "yes"] == stored(honcho_server)


def test_hundreds_of_messages_go_in_batches_in_order(honcho_server: RunningServer) -> None:
    """Honcho takes a hundred messages a request; the order holds across batches."""
    with memory_at(honcho_server) as memory:
        hand_over(memory, transcript(THREAD, 130))

    posts = [request for request in honcho_server.requests if request.path.endswith("/messages")]
    assert said(130) == stored(honcho_server)
    assert [100, 100, 60] == [len(post.body["messages"]) for post in posts]


def test_what_honcho_cannot_take_costs_no_neighbour_its_place(honcho_server: RunningServer) -> None:
    """Control tokens, lone surrogates, NUL and excess length are made storable."""
    hostile: list[Raw] = [
        {"type": "human", "id": "1", "content": "what is <|endoftext|>?"},
        {"type": "human", "id": "2\0", "content": "half \ud83d, nul \0."},
        {"type": "human", "id": "*", "content": "x" * 30_000},
        {"type": "human", "id": "4", "content": "fine"},
    ]
    with memory_at(honcho_server, message_char_limit=25_000) as memory:
        hand_over(memory, hostile)
        hand_over(memory, hostile)

    assert ["what is <| endoftext |>?", "half \ufffd, nul .", "x" * 25_000, "fine"] == stored(
        honcho_server
    )


def test_the_assistant_is_not_observed_by_default(honcho_server: RunningServer) -> None:
    """Honcho pays no model time for the assistant, and is told so once per workspace."""
    with memory_at(honcho_server) as memory:
        hand_over(memory, transcript(THREAD, 1))
        memory.remember("another thread", transcript("other", 1), user_id=USER)
        assert memory.flush(PATIENCE)

    peers = [request for request in honcho_server.requests if request.path.endswith("/peers")]
    assert {"observe_me": False} == honcho_server.state.peer_configuration(WORKSPACE, "deerflow")
    assert 1 == len(peers)


def test_the_assistant_is_observed_where_that_is_wanted(
    honcho_server: RunningServer, tmp_path: Path
) -> None:
    """A change of mind reaches Honcho; wanting the default from the start costs no request."""
    with memory_at(honcho_server, assistant_observed=True) as memory:
        hand_over(memory, transcript(THREAD, 1))
    assert not [request for request in honcho_server.requests if request.path.endswith("/peers")]

    for wanted, turns in ((False, 2), (True, 3)):
        settings = {"storage_path": str(tmp_path), "assistant_observed": wanted}
        with memory_at(honcho_server, **settings) as memory:
            hand_over(memory, transcript(THREAD, turns))
        assert {"observe_me": wanted} == honcho_server.state.peer_configuration(
            WORKSPACE, "deerflow"
        )


def builtin_thread(honcho_server: RunningServer, turns: int) -> None:
    """A thread as DeerFlow's built-in backend has left it after so many turns."""
    for number in range(1, turns + 1):
        store_as_builtin(honcho_server.url, WORKSPACE, SESSION, PEER, transcript(THREAD, number))


def test_moving_in_sends_nothing_again(honcho_server: RunningServer) -> None:
    """What the built-in backend stored, many times over and without ids, is recognised."""
    builtin_thread(honcho_server, 20)
    before = stored(honcho_server)

    with memory_at(honcho_server) as memory:
        hand_over(memory, transcript(THREAD, 21))
        hand_over(memory, transcript(THREAD, 22))

    assert 650 == len(before)
    assert [*before, *said(22)[40:]] == stored(honcho_server)


def test_moving_in_sends_what_the_builtin_backend_had_lost(honcho_server: RunningServer) -> None:
    """From about the 34th turn on its batches were refused; only what it lost is sent."""
    builtin_thread(honcho_server, 40)
    before = stored(honcho_server)
    kept = [text for text in said(40) if text in before]

    with memory_at(honcho_server) as memory:
        hand_over(memory, transcript(THREAD, 41))

    assert len(kept) < len(said(40))
    assert [*before, *said(41)[len(kept) :]] == stored(honcho_server)


def test_moving_in_without_backfill_begins_with_the_latest_turn(
    honcho_server: RunningServer,
) -> None:
    """With `backfill: false` nothing is sent of the past, stored or not."""
    with memory_at(honcho_server, backfill=False) as memory:
        hand_over(memory, transcript(THREAD, 9))
        hand_over(memory, transcript(THREAD, 10))

    assert said(10)[16:] == stored(honcho_server)


def test_the_same_words_in_the_latest_turn_are_new(honcho_server: RunningServer) -> None:
    """Moving in compares texts, but never of what was said just now."""
    builtin_thread(honcho_server, 2)
    before = stored(honcho_server)
    messages = [
        *transcript(THREAD, 2),
        {"type": "human", "id": "again", "content": "question 1"},
        {"type": "ai", "id": "new", "content": "answer 1"},
    ]

    with memory_at(honcho_server) as memory:
        hand_over(memory, messages)

    assert [*before, "question 1", "answer 1"] == stored(honcho_server)


def test_another_machine_takes_over(honcho_server: RunningServer, tmp_path: Path) -> None:
    """Two machines without a shared disk do not store each other's messages again."""
    with (
        memory_at(honcho_server, storage_path=str(tmp_path / "one")) as one,
        memory_at(honcho_server, storage_path=str(tmp_path / "two")) as two,
    ):
        for turns in range(1, 13, 2):
            hand_over(one, transcript(THREAD, turns))
            hand_over(two, transcript(THREAD, turns + 1))

    assert said(12) == stored(honcho_server)


def test_nobody_has_no_memory(honcho_server: RunningServer) -> None:
    """Without a user nothing is written, nothing is known, and no request is made."""
    with memory_at(honcho_server, anonymous_user_ids=["default"]) as memory:
        for nobody in (None, "", "default"):
            assert 0 == memory.remember(THREAD, transcript(THREAD, 1), user_id=nobody)
            assert "" == memory.recall(nobody).text
            assert () == memory.search("question", user_id=nobody).hits
        assert memory.flush(PATIENCE)

    assert [] == list(honcho_server.requests)
