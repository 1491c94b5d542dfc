"""The text of a message, from content blocks to what Honcho can store."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honcho_memory.domain import text

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


def test_blocks_become_lines() -> None:
    """The text blocks of a message are joined, a line each; other blocks have no text."""
    content = [
        "first",
        {"type": "text", "text": "second"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "thinking", "thinking": "hm", "text": "hidden"},
        {"type": "reasoning", "summary": [{"text": "hidden"}]},
        {"type": "text", "text": None},
        7,
    ]

    assert "first\nsecond" == text.join_blocks(content)


@pytest.mark.parametrize("content", [None, 7, {"text": "x"}, object()])
def test_a_content_that_is_no_content_has_no_text(content: object) -> None:
    """Whatever a host puts where a content is due, reading it does not fail."""
    assert "" == text.join_blocks(content)


def test_a_block_of_a_kind_that_is_no_name_is_read_all_the_same() -> None:
    """A strange block costs neither its text nor its thread."""
    assert "hi" == text.join_blocks([{"type": ["text"], "text": "hi"}])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("<uploaded_files>x</uploaded_files>", True),
        ("<system-reminder>x</system-reminder> <uploaded_files>x</uploaded_files>", True),
        ("<system-reminder>x</system-reminder> hello", False),
        ("see <uploaded_files>x</uploaded_files>", False),
    ],
)
def test_uploads_in_front_are_noticed(raw: str, expected: bool) -> None:
    """Also behind what else the host puts in front."""
    assert expected is text.begins_with_uploads(raw)


def test_what_honcho_cannot_take_is_repaired() -> None:
    """NUL goes, halves of a pair are joined, and a lone half becomes a replacement character."""
    assert "ab\U0001f600 \ufffd" == text.repair("a\0b\ud83d\ude00 \ud83d")


@given(ANY_TEXT)
def test_repaired_text_is_utf8(raw: str) -> None:
    """Repaired text can be sent, and repairing it again changes nothing."""
    repaired = text.repair(raw)

    assert "\0" not in repaired
    assert repaired == repaired.encode().decode()
    assert repaired == text.repair(repaired)


@pytest.mark.parametrize(
    "raw",
    [
        "<uploaded_files>\na.pdf\n</uploaded_files>\n\nhello",
        "<Current_Uploads>a</current_uploads> hello",
        "<memory>she lives in Lisbon</memory>\nhello",
        "<system-reminder>be brief</system-reminder>hello",
        '<memory kind="x">a</memory><system-reminder>b</system-reminder>hello',
    ],
)
def test_what_the_host_puts_in_front_goes(raw: str) -> None:
    """Uploads, memory and reminders in front of the user's words are not the user's."""
    assert "hello" == text.strip_leading_blocks(raw, answer=False)


@pytest.mark.parametrize(
    "raw",
    [
        "what does <memory>x</memory> mean?",
        "<memory> is a tag",
        "<think>so do I</think> hello",
        "<b>bold</b>",
    ],
)
def test_the_users_own_markup_stays(raw: str) -> None:
    """Markup in the middle, an unclosed tag, or the user's own thoughts stay as they are."""
    assert raw == text.strip_leading_blocks(raw, answer=False)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("<think>hm</think>\n\nYes.", "Yes."),
        ("<THINKING>a</thinking><think>b</think>Yes.", "Yes."),
        ("<think>cut off", ""),
        ("Use <think>…</think> tags.", "Use <think>…</think> tags."),
        ("<think>a</think><memory>b</memory>Yes.", "Yes."),
    ],
)
def test_reasoning_in_front_of_an_answer_goes(raw: str, expected: str) -> None:
    """What a model thought before its answer is not the answer, even when it was cut off."""
    assert expected == text.strip_leading_blocks(raw, answer=True)


@given(
    st.lists(
        st.sampled_from(
            ["<memory>", "</memory>", "<think>", "</think>", "<uploaded_files>", "x", " ", "\n"]
        )
    ).map("".join),
    st.booleans(),
)
def test_stripping_leading_blocks_is_idempotent(raw: str, answer: bool) -> None:
    """Whatever the nesting, nothing is left in front that a second look would take away."""
    once = text.strip_leading_blocks(raw, answer=answer)

    assert once == text.strip_leading_blocks(once, answer=answer)


@given(ANY_TEXT, st.sampled_from(["<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>"]), ANY_TEXT)
def test_control_tokens_are_made_harmless(before: str, token: str, after: str) -> None:
    """No control token of the tokenizer is left, and the words in it can still be read."""
    defused = text.defuse_control_tokens(before + token + after)

    assert token not in defused
    assert f"<| {token[2:-2]} |>" in defused


def test_a_token_that_honcho_accepts_stays() -> None:
    """Only what Honcho refuses is changed."""
    assert "<|im_start|>" == text.defuse_control_tokens("<|im_start|>")


@given(st.text(alphabet="ab \n", min_size=1), st.integers(1, 9))
def test_pieces_are_the_text(raw: str, limit: int) -> None:
    """The pieces of a long text are within the limit, and together they are the text."""
    pieces = text.split(raw, limit)

    assert raw == "".join(pieces)
    assert all(0 < len(piece) <= limit for piece in pieces)


def test_pieces_end_after_words() -> None:
    """A long text is cut after a word rather than in one."""
    assert ("one two ", "three ", "four") == text.split("one two three four", 9)


def test_the_builtin_text_is_what_the_builtin_backend_stored() -> None:
    """It joined the blocks, stripped them and cut them; the server stripped NUL."""
    content = [" ab", {"type": "text", "text": "c\0d efg "}]

    assert "ab\ncd" == text.builtin_text(content, 6)
