"""Threads as DeerFlow holds them, and what its built-in Honcho backend makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

Raw = Mapping[str, Any]


def opening(thread: str, said: str) -> list[Raw]:
    """What the first message of a thread becomes: the date, the hidden memory, the words."""
    first = f"{thread}-h1"
    return [
        {"type": "system", "id": first, "content": "Today is 1 March 2026."},
        {
            "type": "human",
            "id": f"{first}__memory",
            "content": "<memory>She lives in Lisbon.</memory>",
            "additional_kwargs": {"hide_from_ui": True, "dynamic_context_reminder": True},
        },
        {"type": "human", "id": f"{first}__user", "content": said},
    ]


def turn(thread: str, number: int) -> list[Raw]:
    """One turn with tools: a question, a tool call with text, its result, the answer."""
    question = f"question {number}"
    asked = (
        opening(thread, question)
        if number == 1
        else [{"type": "human", "id": f"{thread}-h{number}", "content": question}]
    )
    return [
        *asked,
        {
            "type": "ai",
            "id": f"{thread}-c{number}",
            "content": "Let me look…",
            "tool_calls": [{"name": "search", "args": {}, "id": "x"}],
        },
        {"type": "tool", "id": f"{thread}-t{number}", "content": "result"},
        {"type": "ai", "id": f"{thread}-a{number}", "content": f"answer {number}"},
    ]


def transcript(thread: str, turns: int) -> list[Raw]:
    """The whole state of a thread after so many turns."""
    return [message for number in range(1, turns + 1) for message in turn(thread, number)]


def said(turns: int) -> list[str]:
    """What belongs into memory of that thread."""
    return [
        text
        for number in range(1, turns + 1)
        for text in (f"question {number}", f"answer {number}")
    ]


def store_as_builtin(
    url: str, workspace: str, session: str, user: str, messages: Sequence[Raw], *, limit: int = 8000
) -> None:
    """Store a thread's state in the way of DeerFlow's built-in backend: all of it, each turn.

    Human and AI messages with text, cut at `limit`, without metadata; a batch that the server
    refuses is lost.
    """
    peers = {"human": user, "ai": "deerflow"}
    batch = [
        {"peer_id": peers[message["type"]], "content": message["content"].strip()[:limit]}
        for message in messages
        if message["type"] in peers and message["content"].strip()
    ]
    path = f"{url}/v3/workspaces/{workspace}/sessions/{session}/messages"
    httpx.post(path, json={"messages": batch}, timeout=60)
