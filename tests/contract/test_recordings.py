"""The strict server of the tests is held to what a real Honcho 3.0.12 answered.

`tests/recordings/` holds one request and its answer a file. They are one story, told in the
order of their names: each is replayed on the state that those before it left behind. Long
strings and lists are shortened there, and end in `…(` and how long they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from honcho_memory.testing.strict_honcho import running_server
from honcho_memory.testing.strict_honcho.json_shapes import is_list, is_object

RECORDINGS = sorted((Path(__file__).parents[1] / "recordings").glob("*.json"))
TOKENS = {"52-auth-none": None, "53-auth-bad": "forged", "54-auth-other-workspace": "for-wsAuth"}

_GENERATED = re.compile(r"[A-Za-z0-9_-]{21}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z")
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]")
_SHORTENED = re.compile(r"(.*)…\((\d+) (chars|items)\)", re.DOTALL)


def whole(value: Any) -> Any:
    """A request as it was before it was shortened: the end repeated until it is long enough."""
    if is_object(value):
        return {name: whole(item) for name, item in value.items()}
    if is_list(value):
        *items, last = value or [None]
        shortened = _SHORTENED.fullmatch(last) if isinstance(last, str) else None
        if shortened is None:
            return [whole(item) for item in value]
        return items + [items[-1]] * (int(shortened[2]) - len(items))
    if isinstance(value, str) and (shortened := _SHORTENED.fullmatch(value)):
        return shortened[1] + shortened[1][-1] * (int(shortened[2]) - len(shortened[1]))
    return value


class Correspondence:
    """Which id and which time of this run stands for which of the recorded ones."""

    def __init__(self) -> None:
        self._here: dict[str, str] = {}

    def translate(self, text: str) -> str:
        """A recorded text with the ids of this run in it."""
        for recorded, here in self._here.items():
            text = text.replace(recorded, here)
        return text

    def expected(self, recorded: Any, answer: Any, *, name: str = "") -> Any:
        """What a recorded answer lets us expect here.

        That is the recorded answer itself, but for what is generated or shortened: there it is
        what the answer has, as long as that is of the same shape and agrees with all before.
        """
        if name == "token_count" and isinstance(answer, int):
            return answer
        if is_object(recorded) and is_object(answer):
            return self._expected_object(recorded, answer)
        if is_list(recorded) and is_list(answer):
            return self._expected_list(recorded, answer)
        if isinstance(recorded, str) and isinstance(answer, str):
            return self._expected_text(recorded, answer, name)
        return recorded

    def _expected_object(self, recorded: dict[str, Any], answer: dict[str, Any]) -> Any:
        expected: dict[str, Any] = {}
        for key, value in recorded.items():
            if _GENERATED.fullmatch(key):
                free = [name for name in answer if name not in expected]
                known = self._here.setdefault(key, free[0] if free else key)
            else:
                known = key
            expected[known] = self.expected(value, answer.get(known), name=key)
        return expected

    def _expected_list(self, recorded: list[Any], answer: list[Any]) -> list[Any]:
        shortened = recorded and isinstance(recorded[-1], str) and _SHORTENED.match(recorded[-1])
        if shortened and len(answer) == int(shortened[2]):
            recorded = recorded[:-1] + answer[len(recorded) - 1 :]
        padded = answer + [None] * (len(recorded) - len(answer))
        return [self.expected(*pair) for pair in zip(recorded, padded, strict=False)]

    def _expected_text(self, recorded: str, answer: str, name: str) -> str:
        if _GENERATED.fullmatch(recorded) and _GENERATED.fullmatch(answer):
            return self._here.setdefault(recorded, answer)
        shortened = _SHORTENED.fullmatch(recorded)
        if shortened and answer.startswith(shortened[1]):
            as_long = name == "msg" or len(answer) == int(shortened[2])
            return answer if as_long else recorded
        stamps = iter(_STAMP.findall(answer))
        return _STAMP.sub(lambda stamp: next(stamps, stamp[0]), self.translate(recorded))


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded answer, translated to this run, and the strict server's."""

    expected: Any
    answer: Any


@pytest.fixture(scope="module")
def replayed() -> Generator[dict[str, Replayed]]:
    with (
        running_server() as server,
        running_server(tokens={"for-wsAuth": "wsAuth"}) as guarded,
        # A connection each: after a 500 the server closes one without saying so.
        httpx.Client(
            trust_env=False, timeout=60, limits=httpx.Limits(max_keepalive_connections=0)
        ) as client,
    ):
        same = Correspondence()
        results: dict[str, Replayed] = {}
        for path in RECORDINGS:
            exchange = json.loads(path.read_text(encoding="utf-8"))
            base = guarded.url if path.stem in TOKENS else server.url
            token = TOKENS.get(path.stem)
            answer = _send(client, base, exchange["request"], same, token)
            results[path.stem] = Replayed(same.expected(exchange["response"], answer), answer)
        yield results


def _send(
    client: httpx.Client,
    base: str,
    request: dict[str, Any],
    same: Correspondence,
    token: str | None,
) -> dict[str, Any]:
    body = request["body"]
    response = client.request(
        request["method"],
        base + same.translate(request["path"]),
        content=body if isinstance(body, str) or body is None else json.dumps(whole(body)),
        headers={
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        },
    )
    return {
        "status": response.status_code,
        "body": response.json() if response.content else None,
    }


@pytest.mark.parametrize("name", [path.stem for path in RECORDINGS])
def test_strict_server_answers_as_recorded(name: str, replayed: dict[str, Replayed]) -> None:
    """The strict server gives the answer that the real one gave."""
    assert replayed[name].expected == replayed[name].answer


def test_a_different_answer_would_be_noticed() -> None:
    """An answer that lacks a field, has another text or confuses two ids is not as recorded."""
    recorded = {"id": "a" * 21, "peer": "ada", "again": "a" * 21}
    same = Correspondence()

    assert same.expected(recorded, {"id": "b" * 21}) != {"id": "b" * 21}
    for other in (
        {"id": "b" * 21, "peer": "bob", "again": "b" * 21},
        {"id": "b" * 21, "peer": "ada", "again": "c" * 21},
        {"id": "b" * 21, "peer": "ada", "again": "b" * 21, "more": 1},
    ):
        assert same.expected(recorded, other) != other
