"""What of a transcript belongs into memory, by which rule the rest does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honcho_memory.domain.messages import Message, Role, TurnMessage
from honcho_memory.domain.text import builtin_text, text_digest
from honcho_memory.domain.transcript import (
    RULES,
    UPLOAD_ACKNOWLEDGEMENT,
    LengthLimit,
    Overflow,
    last_question,
    message_key,
    piece_key,
    said_times,
    sort_transcript,
    turn_text,
)

UPLOADS = "<uploaded_files>\n- plan.pdf\n</uploaded_files>"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def user(content: object = "hello", **more: object) -> Message:
    """What the user said."""
    return replace(Message(Role.USER, content), **more)  # type: ignore[arg-type]


def assistant(content: object = "hi", **more: object) -> Message:
    """What the assistant answered."""
    return replace(Message(Role.ASSISTANT, content), **more)  # type: ignore[arg-type]


def kept_texts(messages: Sequence[Message], limit: LengthLimit | None = None) -> list[str]:
    """The texts that are remembered."""
    return [turn.text for turn in sort_transcript(messages, limit or LengthLimit()).kept]


def rules_of(messages: Sequence[Message]) -> list[str]:
    """The rules by which messages are left out."""
    return [left.rule for left in sort_transcript(messages, LengthLimit()).left_out]


LEFT_OUT = {
    "not_conversation": Message(Role.OTHER, "The date is …"),
    "hidden_message": user("remember to be brief", hidden=True),
    "scheduled_prompt": user("Write the weekly report.", scheduled=True),
    "conversation_summary": user("So far: …", name="summary"),
    "tool_call": assistant("Let me look…", calls_tools=True),
    "provider_error": assistant("The model is overloaded.", reports_error=True),
    "upload_only": user(UPLOADS),
    "no_text": user([{"type": "image_url"}]),
}


@pytest.mark.parametrize("rule", [rule.__name__ for rule in RULES])
def test_each_rule_leaves_out_its_kind(rule: str) -> None:
    """Every kind of message that is not the conversation is left out by the rule of its name."""
    messages = [LEFT_OUT[rule], user("the next question"), assistant("the answer")]

    assert [rule] == rules_of(messages)
    assert ["the next question", "the answer"] == kept_texts(messages)


def test_only_reasoning_is_no_answer() -> None:
    """An answer that is nothing but reasoning has no text."""
    assert ["no_text"] == rules_of([assistant("<think>hm</think>")])


def test_injected_memory_never_comes_back() -> None:
    """The memory text that a host puts into a thread is not what the user said."""
    assert ["no_text"] == rules_of([user("<memory>Ada lives in Lisbon</memory>")])


def test_the_answer_to_an_upload_without_a_word_is_left_out() -> None:
    """Nobody said anything: neither the upload nor its acknowledgement is remembered."""
    messages = [
        user(UPLOADS),
        assistant("Reading…", calls_tools=True),
        Message(Role.OTHER, "contents"),
        user("a reminder", hidden=True),
        assistant("I have read plan.pdf."),
        user("summarise it"),
        assistant("It is a plan."),
    ]

    assert ["summarise it", "It is a plan."] == kept_texts(messages)
    assert UPLOAD_ACKNOWLEDGEMENT == rules_of(messages)[-1]


def test_the_users_words_beside_an_upload_are_kept() -> None:
    """With an upload, what is remembered are the words, clean if the host keeps them clean."""
    messages = [
        user(f"{UPLOADS}\n\nwhat is in it?"),
        user(f"{UPLOADS}\n\nwhat [x] is", original_content="what is"),
        user(f"{UPLOADS}\n\nand here?", original_content=""),
    ]

    assert ["what is in it?", "what is", "and here?"] == kept_texts(messages)


def test_a_reply_is_what_the_user_said() -> None:
    """An answer to the agent's question is remembered by its value, not by the host's wording."""
    assert ["blue"] == kept_texts([user("The user answered: blue", reply="blue")])


def test_a_long_message_is_cut_to_the_limit() -> None:
    """With `truncate` exactly so many characters are kept."""
    assert ["x" * 10] == kept_texts([user("x" * 99)], LengthLimit(10))


def test_a_long_message_is_cut_into_numbered_pieces() -> None:
    """With `split` nothing is lost, and the pieces say which they are."""
    limit = LengthLimit(4, Overflow.SPLIT)
    turns = sort_transcript([user("abcdefghij", id="m1")], limit).kept

    assert [("abcd", 1, 3), ("efgh", 2, 3), ("ij", 3, 3)] == [
        (turn.text, turn.piece, turn.pieces) for turn in turns
    ]
    assert {"m1"} == {turn.key for turn in turns}


@pytest.mark.parametrize("host_id", ["*", "", "a b", "a\0", "é", "x" * 129, "sha256-x", "\ud83d"])
def test_an_id_that_honcho_would_not_keep_is_hashed(host_id: str) -> None:
    """No host id can match other messages or be changed by the server."""
    assert message_key(host_id).startswith("sha256-")


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=())), unique=True))
def test_different_ids_have_different_keys(host_ids: list[str]) -> None:
    """A message is known by its host id alone, whatever that id is; so are pieces."""
    keys = {message_key(host_id) for host_id in host_ids}
    pieces = {piece_key(key, piece) for key in keys for piece in (1, 2, 3)}

    assert len(host_ids) == len(keys)
    assert 3 * len(keys) == len(pieces)
    assert all(key.isascii() and 0 < len(key) <= 128 for key in pieces)


def test_no_id_can_pass_for_a_piece() -> None:
    """Whoever chooses ids cannot choose the key of another message's piece."""
    assert piece_key("abc", 2) != message_key("abc\x002")
    assert message_key(piece_key("abc", 2)) != piece_key("abc", 2)


def test_a_usual_id_is_its_own_key() -> None:
    """What is stored can be found again by the id that the host knows."""
    assert (
        message_key("run-8d0f4f5e__x:1") == "run-8d0f4f5e__x:1" == piece_key("run-8d0f4f5e__x:1", 1)
    )


def test_what_the_builtin_backend_stored_is_recognised() -> None:
    """The digest is of the content as that backend stored it, wrapping and all."""
    content = f"{UPLOADS}\n\nwhat is in it? "
    turn = sort_transcript([user(content)], LengthLimit()).kept[0]

    assert text_digest(builtin_text(content, 8_000)) == turn.builtin_digest


def test_what_the_builtin_backend_skipped_is_not_looked_for() -> None:
    """It read only the content; a reply that stands elsewhere it never had."""
    turn = sort_transcript([user("", reply="blue")], LengthLimit()).kept[0]

    assert turn.builtin_digest is None


def turn(role: Role, said_at: datetime | None = None, piece: int = 1) -> TurnMessage:
    """A turn message of which only author, time and piece matter."""
    return TurnMessage(None, role, "x", said_at, piece=piece)


def test_the_newest_turn_begins_with_the_last_question() -> None:
    """It is the first piece of the last thing the user said."""
    turns = [
        turn(Role.USER),
        turn(Role.ASSISTANT),
        turn(Role.USER),
        turn(Role.USER, piece=2),
        turn(Role.ASSISTANT),
    ]

    assert 2 == last_question(turns)
    assert 0 == last_question([turn(Role.ASSISTANT)])
    assert 0 == last_question([])


def test_answers_take_the_time_of_their_question() -> None:
    """Hosts know when the user spoke; an old answer was given then, the newest one now."""
    first, second = NOW - timedelta(days=2), NOW - timedelta(days=1)
    turns = [
        turn(Role.USER, first),
        turn(Role.ASSISTANT),
        turn(Role.USER, second),
        turn(Role.ASSISTANT),
    ]

    assert [first, first, second, NOW] == said_times(turns, NOW)


def test_without_any_time_everything_was_said_now() -> None:
    """A host that knows no times costs nothing but the times."""
    assert [NOW, NOW] == said_times([turn(Role.USER), turn(Role.ASSISTANT)], NOW)


def test_nothing_was_said_in_the_future() -> None:
    """A clock that is ahead would put all that follows into the future too."""
    assert [NOW] == said_times([turn(Role.USER, NOW + timedelta(days=1))], NOW)


def test_what_has_no_time_is_not_later_than_what_follows() -> None:
    """An old message without a time is put no later than anything whose time is known."""
    known = NOW - timedelta(days=1)
    turns = [turn(Role.USER), turn(Role.USER, known), turn(Role.USER)]

    assert [known, known, NOW] == said_times(turns, NOW)


ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)
ANY_MESSAGE = st.builds(
    Message,
    role=st.sampled_from(Role),
    content=ANY_TEXT
    | st.lists(ANY_TEXT | st.fixed_dictionaries({"type": st.just("text"), "text": ANY_TEXT}))
    | st.sampled_from(
        [UPLOADS, f"{UPLOADS} hi", "<memory>x</memory>", "<|endoftext|>", "<think>x</think>y"]
    ),
    id=st.none() | ANY_TEXT,
    name=st.none() | st.just("summary"),
    hidden=st.booleans(),
    reply=st.none() | ANY_TEXT,
    original_content=st.none() | ANY_TEXT,
    calls_tools=st.booleans(),
    reports_error=st.booleans(),
)


@given(
    st.lists(ANY_MESSAGE),
    st.builds(LengthLimit, st.integers(1, 40), st.sampled_from(Overflow)),
)
def test_whatever_is_kept_can_be_stored(messages: list[Message], limit: LengthLimit) -> None:
    """Sorting is total and keeps the order; what is kept is within Honcho's limits."""
    result = sort_transcript(messages, limit)

    firsts = [turn for turn in result.kept if turn.piece == 1]
    left_out = [id(left.message) for left in result.left_out]
    kept_messages = [message for message in messages if id(message) not in left_out]
    assert len(messages) == len(firsts) + len(result.left_out)
    assert [message.role for message in kept_messages] == [turn.role for turn in firsts]
    for turn in result.kept:
        assert 0 < len(turn.text) <= limit.chars
        assert "\0" not in turn.text
        assert "<|endoftext|>" not in turn.text
        turn.text.encode()


@given(ANY_MESSAGE)
def test_nothing_hidden_gets_through(message: Message) -> None:
    """Neither hidden messages nor tools, errors and summaries are ever remembered."""
    is_ours = message.role is not Role.OTHER and not message.hidden
    if not is_ours or (message.role is Role.ASSISTANT and message.calls_tools):
        assert [] == kept_texts([message])


@given(ANY_MESSAGE)
def test_normalising_is_idempotent(message: Message) -> None:
    """A text that was remembered once reads the same when it is handed over as it was stored."""
    once = turn_text(message)

    assert once == turn_text(Message(message.role, once))
