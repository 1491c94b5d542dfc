"""Messages as LangChain shapes them, as far as a memory backend can see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Content = str | list[str | dict[str, Any]]


@dataclass(slots=True)
class Message:
    """A message of a thread."""

    type: str
    content: Content
    id: str | None = None
    name: str | None = None
    additional_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    tool_calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def human(
    content: Content, host_id: str | None = None, *, name: str | None = None, **extra: Any
) -> Message:
    """What a person wrote, or what the host writes in a person's place."""
    return Message("human", content, host_id, name, extra)


def ai(
    content: Content, host_id: str | None = None, *, tools: Sequence[str] = (), **extra: Any
) -> Message:
    """What the model wrote; with `tools` it is not done yet."""
    calls: list[dict[str, Any]] = [
        {"name": name, "args": {}, "id": f"call-{name}"} for name in tools
    ]
    return Message("ai", content, host_id, None, extra, calls)


def system(content: Content, host_id: str | None = None) -> Message:
    """What the host tells the model."""
    return Message("system", content, host_id)


def tool(content: Content, host_id: str | None = None) -> Message:
    """What a tool answered."""
    return Message("tool", content, host_id, "web_search")
