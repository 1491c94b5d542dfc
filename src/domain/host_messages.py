"""Reading a host's messages.

The names are LangChain's, and in `additional_kwargs` those of DeerFlow, which hosts that are
built on it share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import cast

from honcho_memory.domain.messages import Message, Role

_ROLES = {
    "human": Role.USER,
    "HumanMessageChunk": Role.USER,
    "user": Role.USER,
    "ai": Role.ASSISTANT,
    "AIMessageChunk": Role.ASSISTANT,
    "assistant": Role.ASSISTANT,
}
SCHEDULED = "scheduled_prompt"
"""The key in `additional_kwargs` by which a host marks a prompt that it says on a schedule."""
_SUMMARY, _SUMMARIZED = "summary", "summarization"
"""The name that DeerFlow gives a summary of its own, and what LangChain says it came from."""
_MILLISECONDS_FROM = 100_000_000_000
"""As seconds this is the year 5138: a larger time stamp counts milliseconds."""


class MessageReader:
    """Reads one message in whatever shape a host holds it; total on any object.

    It takes LangChain messages, mappings with the same names (`role` may stand for `type`),
    and `Message` objects, which are taken as they are.

    Args:
        keep_hidden: The host's say in which hidden messages, judged by their
            `additional_kwargs`, the user said after all. Without it, and where it fails, those
            are kept that answer a question of the agent.
        id_suffix: Taken once off the end of an id, where a host adds it late.
    """

    def __init__(
        self,
        keep_hidden: Callable[[Mapping[str, object]], bool] | None = None,
        id_suffix: str = "",
    ) -> None:
        self._keep_hidden = keep_hidden
        self._id_suffix = id_suffix

    def read(self, raw: object) -> Message:
        """The message as the core sees it; what is no message becomes one of role OTHER."""
        if isinstance(raw, Message):
            return raw
        try:
            return self._read(raw)
        except Exception:  # noqa: BLE001 - the host's objects; one must not cost the others
            return Message(Role.OTHER)

    def _read(self, raw: object) -> Message:
        role = self.role(raw)
        extra = _mapping(_get(raw, "additional_kwargs"))
        reply = _reply(extra)
        hidden = bool(extra.get("hide_from_ui") or extra.get("dynamic_context_reminder"))
        return Message(
            role=role,
            content=_get(raw, "content"),
            id=self.id(raw),
            name=_SUMMARY if extra.get("lc_source") == _SUMMARIZED else _text(_get(raw, "name")),
            hidden=hidden and not self._keeps(extra, reply),
            reply=reply,
            original_content=extra.get("original_user_content") if role is Role.USER else None,
            calls_tools=bool(_get(raw, "tool_calls") or extra.get("tool_calls")),
            scheduled=bool(extra.get(SCHEDULED)),
            reports_error=bool(extra.get("deerflow_error_fallback")),
            said_at=_time(
                extra.get("timestamp") or _get(raw, "created_at") or _get(raw, "timestamp")
            ),
        )

    def role(self, raw: object) -> Role:
        """Who speaks, read alone: looking back through a long thread has to be cheap."""
        if isinstance(raw, Message):
            return raw.role
        kind = _get(raw, "type") or _get(raw, "role")
        return _ROLES.get(kind, Role.OTHER) if isinstance(kind, str) else Role.OTHER

    def id(self, raw: object) -> str | None:
        """The host's id, read alone, without the suffix."""
        value = raw.id if isinstance(raw, Message) else _get(raw, "id")
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not value:
            return None
        return value.removesuffix(self._id_suffix) or value if self._id_suffix else value

    def _keeps(self, extra: Mapping[str, object], reply: str | None) -> bool:
        if self._keep_hidden is None:
            return reply is not None
        try:
            # A coroutine, of a hook that is not what it should be, is no yes.
            return self._keep_hidden(extra) is True
        except Exception:  # noqa: BLE001 - the host's code; its failure must not lose a reply
            return reply is not None


def _get(raw: object, name: str) -> object:
    """What cannot be read is not there."""
    try:
        if isinstance(raw, Mapping):
            return cast("Mapping[object, object]", raw).get(name)
        return getattr(raw, name, None)
    except Exception:  # noqa: BLE001 - the host's objects; one must not cost the others
        return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _reply(extra: Mapping[str, object]) -> str | None:
    """What the user answered when the agent asked: typed, or one of the options offered."""
    response = _mapping(extra.get("human_input_response"))
    if response.get("kind") != "human_input_response":
        return None
    value = response.get("value")
    return value if isinstance(value, str) and value.strip() else None


def _time(value: object) -> datetime | None:
    """A time stamp: a datetime, ISO 8601, or a number of seconds or milliseconds since 1970."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float):
            seconds = value / 1000 if value >= _MILLISECONDS_FROM else value
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
