"""A host's messages -> the turn messages that belong into memory.

Kept is what the user said and the final answers. Everything else is left out by one of the
rules below, which is named after what it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from honcho_memory.domain import text as texts
from honcho_memory.domain.identity import digest
from honcho_memory.domain.messages import Message, Role, TurnMessage

_PLAIN_KEY = re.compile(r"[\x21-\x7e]{1,128}")
_HASHED = "sha256-"
_PIECE = "piece-"


def message_key(host_id: str) -> str:
    """What a message is known by: its host id, hashed where Honcho would not keep it as it is.

    Honcho strips NUL from metadata, and `"*"` matches every message that is asked for.
    """
    is_ours = host_id.startswith((_HASHED, _PIECE))
    if _PLAIN_KEY.fullmatch(host_id) and host_id != "*" and not is_ours:
        return host_id
    return _HASHED + digest(host_id, 64)


def piece_key(key: str, piece: int) -> str:
    """What a piece of a long message is known by; the first goes by the message's own key."""
    return key if piece == 1 else _PIECE + digest(f"{key}\0{piece}", 64)


class Overflow(StrEnum):
    """What becomes of a message over the limit."""

    TRUNCATE = "truncate"
    SPLIT = "split"


@dataclass(frozen=True, slots=True)
class LengthLimit:
    """How long a stored message may be.

    Attributes:
        chars: In characters, 1 to `MAX_MESSAGE_CHARS`.
        overflow: Cut to exactly that many, or cut into numbered pieces.
    """

    chars: int = 8_000
    overflow: Overflow = Overflow.TRUNCATE


def not_conversation(message: Message) -> bool:
    """System and tool messages, and what is no message at all."""
    return message.role is Role.OTHER


def hidden_message(message: Message) -> bool:
    """What the host tells its model behind the user's back: reminders, memory, notes."""
    return message.hidden


def scheduled_prompt(message: Message) -> bool:
    """What the host says in the user's name, on a schedule; the user did not say it."""
    return message.role is Role.USER and message.scheduled


def conversation_summary(message: Message) -> bool:
    """A summary that the host wrote in the place of earlier messages."""
    return message.role is Role.USER and message.name == "summary"


def tool_call(message: Message) -> bool:
    """What the assistant says while it works; it is no final answer."""
    return message.role is Role.ASSISTANT and message.calls_tools


def provider_error(message: Message) -> bool:
    """A failure of the model's provider, shown to the user as an answer."""
    return message.role is Role.ASSISTANT and message.reports_error


def upload_only(message: Message) -> bool:
    """Files that were uploaded without a word."""
    return (
        message.role is Role.USER
        and texts.begins_with_uploads(texts.repair(texts.join_blocks(message.content)))
        and not turn_text(message)
    )


def no_text(message: Message) -> bool:
    """Nothing that can be read: images, reasoning, an injected block, white space."""
    return not turn_text(message)


RULES: tuple[Callable[[Message], bool], ...] = (
    not_conversation,
    hidden_message,
    scheduled_prompt,
    conversation_summary,
    tool_call,
    provider_error,
    upload_only,
    no_text,
)
"""In the order in which they are asked; the first that is true leaves the message out."""

UPLOAD_ACKNOWLEDGEMENT = "upload_acknowledgement"
"""The rule for the answer to an upload without a word: it answers nothing that the user said."""


def turn_text(message: Message) -> str:
    """The user's words or the final answer in a message, as Honcho can store it; may be empty."""
    text = (
        message.reply
        or texts.join_blocks(message.original_content)
        or texts.join_blocks(message.content)
    )
    text = texts.strip_leading_blocks(texts.repair(text), answer=message.role is Role.ASSISTANT)
    return texts.defuse_control_tokens(text)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A message that does not belong into memory, and the rule that says so."""

    message: Message
    rule: str


@dataclass(frozen=True, slots=True)
class Sorted:
    """A transcript, sorted into what belongs into memory and what does not."""

    kept: tuple[TurnMessage, ...]
    left_out: tuple[LeftOut, ...]


def sort_transcript(messages: Iterable[Message], limit: LengthLimit) -> Sorted:
    """Apply the rules to a transcript, or to any stretch of one, in order."""
    kept: list[TurnMessage] = []
    left_out: list[LeftOut] = []
    answers_upload = False
    for message in messages:
        rule = next((rule.__name__ for rule in RULES if rule(message)), None)
        if rule == upload_only.__name__:
            answers_upload = True
        elif rule is None and message.role is Role.USER:
            answers_upload = False
        elif rule is None and answers_upload:
            rule = UPLOAD_ACKNOWLEDGEMENT
        if rule is None:
            kept.extend(_turn_messages(message, limit))
        else:
            left_out.append(LeftOut(message, rule))
    return Sorted(tuple(kept), tuple(left_out))


def _turn_messages(message: Message, limit: LengthLimit) -> Iterable[TurnMessage]:
    text = turn_text(message)
    if limit.overflow is Overflow.SPLIT:
        pieces = texts.split(text, limit.chars)
    else:
        pieces = (text[: limit.chars],)
    builtin = texts.builtin_text(message.content, limit.chars)
    for number, piece in enumerate(pieces, 1):
        yield TurnMessage(
            key=message_key(message.id) if message.id else None,
            role=message.role,
            text=piece,
            said_at=message.said_at,
            builtin_digest=texts.text_digest(builtin) if builtin else None,
            piece=number,
            pieces=len(pieces),
        )


def last_question(turns: Sequence[TurnMessage]) -> int:
    """Where the newest turn begins: the last thing the user said, else the first message."""
    return max(
        (place for place, turn in enumerate(turns) if turn.role is Role.USER and turn.piece == 1),
        default=0,
    )


def said_times(turns: Sequence[TurnMessage], now: datetime) -> list[datetime]:
    """When each was said, never later than now.

    An answer without a time takes its question's. What has none to take was said now if it
    belongs to the newest turn, and else no later than anything whose time is known.
    """
    newest = last_question(turns)
    said_at = min([now, *(turn.said_at for turn in turns if turn.said_at is not None)])
    times: list[datetime] = []
    for place, turn in enumerate(turns):
        if turn.said_at is not None:
            said_at = min(turn.said_at, now)
        elif place >= newest:
            said_at = now
        times.append(said_at)
    return times


def asked_times(
    turns: Sequence[TurnMessage], now: datetime, *, before: datetime | None = None
) -> list[datetime | None]:
    """When the user said each, or asked for it; what is cleared is cleared with its answers.

    Args:
        turns: The messages, oldest first.
        now: When those of the newest turn were said of which the host does not know it.
        before: When the question was asked that the first answers belong to, if it is none of
            these and its time is known.

    Returns:
        For each a time, not later than now; None where the host knows none and others followed.
    """
    newest = last_question(turns)
    times: list[datetime | None] = []
    asked_at = before
    for place, turn in enumerate(turns):
        if turn.role is Role.USER or asked_at is None:
            asked_at = turn.said_at or (now if place >= newest else None)
        times.append(None if asked_at is None else min(asked_at, now))
    return times
