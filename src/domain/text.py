"""The text of a message: out of the host's content blocks, into what Honcho can store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import cast

MAX_MESSAGE_CHARS = 25_000
"""Honcho refuses a whole batch for one message with more."""

_REASONING_BLOCKS = frozenset({"thinking", "reasoning", "redacted_thinking"})
_UPLOADS = r"<(uploaded_files|current_uploads)\b[^>]*>.*?</\1\s*>"
_INJECTED = r"<(memory|system-reminder)\b[^>]*>.*?</\2\s*>"
_REASONING = r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)"
_FLAGS = re.DOTALL | re.IGNORECASE
_LEADING_IN_WORDS = re.compile(rf"\s*(?:{_UPLOADS}|{_INJECTED})", _FLAGS)
_LEADING_IN_ANSWER = re.compile(rf"\s*(?:{_UPLOADS}|{_INJECTED}|{_REASONING})", _FLAGS)
_CONTROL_TOKEN = re.compile(r"<\|(endoftext|endofprompt|fim_prefix|fim_middle|fim_suffix)\|>")


def join_blocks(content: object) -> str:
    """The text of a content: a string, or the text blocks of a list, a line each."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    texts = [_block_text(block) for block in cast("Sequence[object]", content)]
    return "\n".join(text for text in texts if text)


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        return ""
    fields = cast("Mapping[object, object]", block)
    kind, text = fields.get("type"), fields.get("text")
    is_reasoning = isinstance(kind, str) and kind in _REASONING_BLOCKS
    return text if isinstance(text, str) and not is_reasoning else ""


def repair(text: str) -> str:
    """Without NUL, with surrogate pairs joined and lone surrogates replaced.

    Honcho strips NUL and answers a lone surrogate with a 500.
    """
    text = text.replace("\0", "")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def begins_with_uploads(text: str) -> bool:
    """Whether the host has put a list of uploaded files in front of the user's words."""
    start = 0
    while match := _LEADING_IN_WORDS.match(text, start):
        if match[1]:
            return True
        start = match.end()
    return False


def strip_leading_blocks(text: str, *, answer: bool) -> str:
    """Without what stands in front of the words proper: uploads, memory, reminders.

    A block of the same name further back is the speaker's own and stays.

    Args:
        text: The text.
        answer: Whether it is the model's; then its reasoning goes too, closed or cut off.
    """
    leading = _LEADING_IN_ANSWER if answer else _LEADING_IN_WORDS
    start = 0
    while match := leading.match(text, start):
        start = match.end()
    return text[start:].strip()


def defuse_control_tokens(text: str) -> str:
    """With the control tokens of a tokenizer spelled so that it reads them as plain text.

    Honcho refuses a whole batch for one of them.
    """
    return _CONTROL_TOKEN.sub(r"<| \1 |>", text)


def split(text: str, limit: int) -> tuple[str, ...]:
    """The text in pieces of at most `limit` characters, cut after a line or a word if possible.

    Joined, the pieces are the text.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > limit:
        half, end = start + limit // 2, start + limit
        cut = max(text.rfind("\n", half, end), text.rfind(" ", half, end)) + 1 or end
        pieces.append(text[start:cut])
        start = cut
    return (*pieces, text[start:])


def builtin_text(content: object, limit: int) -> str:
    """What DeerFlow's built-in Honcho backend stores of a content; `""` when it skips it.

    It joins and strips the text and cuts it; the server strips NUL.
    """
    return join_blocks(content).strip()[:limit].replace("\0", "")


def text_digest(text: str) -> str:
    """What a text is recognised by without keeping it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
