"""The conversation of the demo, as DeerFlow would hand it over."""

from __future__ import annotations

from typing import Any

USER = "ada@example.org"
THREAD = "8f1a2c64-7d0e-4b8e-9a56-3c1f0e7b2d10"


def _human(host_id: str, content: object, **extra: object) -> dict[str, Any]:
    return {"type": "human", "id": host_id, "content": content, "additional_kwargs": extra}


def _ai(host_id: str, content: object, tools: tuple[str, ...] = ()) -> dict[str, Any]:
    calls: list[dict[str, Any]] = [
        {"name": name, "args": {}, "id": f"{host_id}-call"} for name in tools
    ]
    return {"type": "ai", "id": host_id, "content": content, "tool_calls": calls}


TRANSCRIPT: list[dict[str, Any]] = [
    {"type": "system", "id": "m1", "content": "Today is Sunday, 1 March 2026."},
    _human(
        "m1__memory",
        "<memory>Ada prefers short answers.</memory>",
        hide_from_ui=True,
        dynamic_context_reminder=True,
    ),
    _human(
        "m1__user",
        "Hi! I'm Ada. I moved from Berlin to Lisbon in March and I'm vegetarian.",
        timestamp="2026-03-01T09:58:00Z",
    ),
    _ai("m2", "Welcome, Ada! How can I help you settle in?"),
    _human(
        "m3",
        "Find me a good restaurant near the Alfama for Friday.",
        timestamp="2026-03-01T10:00:00Z",
    ),
    _ai("m4", "Let me look that up…", tools=("web_search",)),
    {"type": "tool", "id": "m5", "content": '[{"title": "Ten places to eat in Alfama"}]'},
    _human("m6", "Remember to cite your sources.", hide_from_ui=True),
    _ai(
        "m7",
        [
            {"type": "thinking", "thinking": "She is vegetarian, so no steak house."},
            {"type": "text", "text": "Try Ao 26: it is vegetarian and ten minutes from Alfama."},
        ],
    ),
    _human("m8", "<uploaded_files>\n- lease.pdf (212 KB)\n</uploaded_files>"),
    _ai("m9", "I have received lease.pdf."),
    _human(
        "m10",
        "<uploaded_files>\n- lease.pdf (212 KB)\n</uploaded_files>\n\nWhen does my lease end?",
        timestamp="2026-03-01T10:05:00Z",
    ),
    _ai("m11", "<think>Page 3 says so.</think>Your lease ends on 28 February 2027."),
    _human(
        "m12",
        "The user chose an option.",
        hide_from_ui=True,
        human_input_response={
            "version": 1,
            "kind": "human_input_response",
            "source": "ask_clarification",
            "request_id": "q1",
            "response_kind": "text",
            "value": "Yes, remind me in January 2027.",
        },
    ),
    _ai("m13", "I will remind you in January 2027."),
]
