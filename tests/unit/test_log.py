"""What an operator's log holds of the life of a memory, and what it does not."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import honcho_memory
from honcho_memory import HonchoMemory, open_memory
from honcho_memory.testing.strict_honcho import RunningServer, running_server

USER = "Zaphod.Beeblebrox@example.org"
THREAD = "Milliways"
TEXT = "The heart of gold is parked in Croydon"
KEY = "hch-v3-vogon-poetry"
SECRETS = ("zaphod", "beeblebrox", "example.org", "milliways", "heart of gold", "croydon", "vogon")
PATIENCE = 60.0


@pytest.fixture
def server() -> Iterator[RunningServer]:
    """A strict Honcho that takes one key."""
    with running_server(tokens={KEY: None}) as running:
        yield running


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """All that is logged at INFO and above, whoever does."""
    caplog.set_level(logging.INFO)
    return caplog


class Odd(list[object]):
    """Messages whose reading fails, with their text in the error."""

    def __iter__(self) -> Iterator[object]:
        raise ValueError(TEXT)

    def __len__(self) -> int:
        raise ValueError(TEXT)


def live(memory: HonchoMemory, server: RunningServer) -> None:
    """Remember, be refused, be put off, fail to recall, have an outage; the server tells all."""
    said = f"{USER} said in {THREAD} with {KEY}: {TEXT}"
    detail, messages = {"detail": said}, "/messages"
    bad = {"detail": [{"loc": ["body", "messages", 0], "msg": said, "type": "x", "input": said}]}

    def remember(key: str) -> None:
        turn = [{"role": "user", "id": key, "content": TEXT}]
        memory.remember(THREAD, turn, user_id=USER)

    memory.warm()
    for key, status, body in [("1", 422, bad), ("2", 422, detail), ("3", 404, detail)]:
        fault = server.faults.answer(status, body=body, path=messages)
        remember(key)
        fault.wait_until_hit()
        assert memory.flush(PATIENCE)
    memory.remember(THREAD, Odd(), user_id=USER)
    for status in (401, 422, 503):
        server.faults.answer(status, body=detail, times=None)
        memory.recall(USER, query=TEXT)
        memory.search(TEXT, user_id=USER)
        server.faults.clear()
        memory.recall(USER, query=TEXT)
    server.faults.answer(503, body=detail, times=None)
    remember("4")
    memory.flush(0)


def test_a_whole_life_leaves_no_trace_of_whose_it_was(
    server: RunningServer, log: pytest.LogCaptureFixture
) -> None:
    """No user, thread, key or text in any record, neither in its text nor in its fields."""
    settings = {"base_url": server.url, "api_key": KEY, "allow_insecure_http": True}
    memory = open_memory({**settings, "recall": {"fresh_seconds": 0}})
    live(memory, server)
    memory.close()

    told = {record.name for record in log.records}
    assert {"honcho_memory", "httpx"} <= told
    for line in (
        "can be used",
        "a session waits",
        "a hand-over could not be taken into memory: ValueError",
        "memory cannot be read",
        "Honcho cannot be used",
        "1 messages are lost with this process",
        "(add messages)",
    ):
        assert line in log.text
    records = "\n".join(f"{vars(record)} {record.getMessage()}" for record in log.records)
    assert [] == [secret for secret in SECRETS if secret in (records + log.text).lower()]


def test_every_line_has_fields() -> None:
    """A log that machines read is searched by operation and kind of error, not by wording."""
    root = Path(honcho_memory.__file__).parent
    calls = [
        (path.relative_to(root), call.lineno, {keyword.arg for keyword in call.keywords})
        for path in root.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in {"logger", "_logger"}
        and call.func.attr in {"info", "warning", "error", "exception", "critical"}
    ]

    assert len(calls) > 20
    assert [] == [(path, line) for path, line, keywords in calls if "extra" not in keywords]
