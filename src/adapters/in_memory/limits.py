"""What Honcho refuses, and the errors that it is refused with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from honcho_memory.domain.errors import HonchoRejected, HonchoUnavailable
from honcho_memory.domain.messages import Outgoing
from honcho_memory.domain.text import MAX_MESSAGE_CHARS

LARGEST_BATCH = 100
"""What one request may carry; also the size of a page, and the highest limit of a read."""
CONTROL_TOKENS = ("<|endoftext|>", "<|endofprompt|>")
"""The server's tokenizer refuses a text with one of them."""

_LONGEST_CONCLUSION = 65_535
_MOST_METADATA_KEYS = 100
_DEEPEST_METADATA = 5
_UNPROCESSABLE = 422
_INTERNAL_ERROR = 500
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,512}")


def without_nul(text: str) -> str:
    """The text as Honcho stores it."""
    return text.replace("\0", "")


def check_batch(messages: Sequence[Outgoing]) -> None:
    """Refuse messages that cannot be stored together.

    Raises:
        HonchoRejected: `refused` names the bad ones, but for a bad author.
    """
    unsendable = {
        place: "not valid Unicode" for place, each in enumerate(messages) if not _is_unicode(each)
    }
    if unsendable:
        raise HonchoRejected("messages cannot be sent: not valid Unicode", refused=unsendable)
    if not 1 <= len(messages) <= LARGEST_BATCH:
        raise _rejected(f"a batch has 1 to {LARGEST_BATCH} messages, not {len(messages)}")
    refused = {
        place: reason for place, each in enumerate(messages) if (reason := _objection(each.content))
    }
    if refused:
        raise _rejected("; ".join(dict.fromkeys(refused.values())), refused)
    for message in messages:
        check_peer(message.author)


def check_conclusions(contents: Sequence[str]) -> None:
    """Refuse conclusions that cannot be created together.

    Raises:
        HonchoRejected: `refused` names the bad ones.
    """
    unsendable = {
        place: "not valid Unicode" for place, each in enumerate(contents) if not _is_encodable(each)
    }
    if unsendable:
        raise HonchoRejected("conclusions cannot be sent: not valid Unicode", refused=unsendable)
    if not 1 <= len(contents) <= LARGEST_BATCH:
        raise _rejected(f"a batch has 1 to {LARGEST_BATCH} conclusions, not {len(contents)}")
    refused = {
        place: reason
        for place, each in enumerate(contents)
        if (reason := _objection_to_conclusion(each))
    }
    if refused:
        raise _rejected("; ".join(dict.fromkeys(refused.values())), refused)


def check_card(lines: Sequence[str]) -> None:
    """Refuse a card that cannot be sent."""
    if not all(map(_is_encodable, lines)):
        raise HonchoRejected("the card cannot be sent: not valid Unicode")


def stored_metadata(metadata: Mapping[str, object]) -> dict[str, object]:
    """A copy of metadata, as Honcho stores it.

    Raises:
        HonchoRejected: It is no JSON, or too much of it.
    """
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError) as exc:
        raise HonchoRejected(f"metadata cannot be sent as JSON: {exc}") from exc
    if len(metadata) > _MOST_METADATA_KEYS:
        raise _rejected(f"metadata has at most {_MOST_METADATA_KEYS} keys, not {len(metadata)}")
    stored: dict[str, object] = _stored(json.loads(text), depth=0)
    return stored


def _stored(value: Any, *, depth: int) -> Any:
    if isinstance(value, str):
        return without_nul(value)
    if isinstance(value, list):
        return [_stored(item, depth=depth) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    if depth == _DEEPEST_METADATA:
        raise _rejected(f"metadata is at most {_DEEPEST_METADATA} objects deep")
    items = cast("dict[str, Any]", value).items()
    return {without_nul(name): _stored(item, depth=depth + 1) for name, item in items}


def check_peer(peer: str) -> None:
    """Refuse what is no id of a peer."""
    if not _NAME.fullmatch(peer):
        raise _rejected(f"peer id {peer!r} must match {_NAME.pattern}")


def check_address(*names: str) -> None:
    """Fail as Honcho does on a bad workspace or session id in the address of a write."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise HonchoUnavailable(f"Honcho fails on the id {name!r}", status=_INTERNAL_ERROR)


def check_query(query: str) -> None:
    """Refuse a text that nothing can be near to."""
    if not _is_encodable(query):
        raise HonchoRejected("the query cannot be sent: not valid Unicode")
    token = _control_token(query)
    if token:
        raise _rejected(f"the query holds the control token {token}")


def check_limit(limit: int) -> None:
    """Refuse a number of things that cannot be asked for at once."""
    if not 1 <= limit <= LARGEST_BATCH:
        raise _rejected(f"1 to {LARGEST_BATCH} can be asked for, not {limit}")


def check_page(page: int) -> None:
    """Refuse a page before the first."""
    if page < 1:
        raise _rejected(f"pages are counted from 1, there is no page {page}")


def _objection(content: str) -> str:
    """Why a content cannot be stored; empty when it can."""
    if len(content) > MAX_MESSAGE_CHARS:
        return f"a message has at most {MAX_MESSAGE_CHARS} characters"
    token = _control_token(without_nul(content))
    return f"a message must not hold the control token {token}" if token else ""


def _objection_to_conclusion(content: str) -> str:
    """Why a conclusion cannot be created; empty when it can."""
    if not 1 <= len(content) <= _LONGEST_CONCLUSION:
        return f"a conclusion has 1 to {_LONGEST_CONCLUSION} characters"
    token = _control_token(without_nul(content))
    return f"a conclusion must not hold the control token {token}" if token else ""


def _control_token(text: str) -> str | None:
    return next((token for token in CONTROL_TOKENS if token in text), None)


def _is_unicode(message: Outgoing) -> bool:
    texts = [message.author, message.content, *message.metadata]
    texts += [value for value in message.metadata.values() if isinstance(value, str)]
    return all(map(_is_encodable, texts))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _rejected(reason: str, refused: dict[int, str] | None = None) -> HonchoRejected:
    return HonchoRejected("Honcho refuses", status=_UNPROCESSABLE, said=reason, refused=refused)
