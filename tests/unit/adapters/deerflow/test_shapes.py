"""What DeerFlow expects of a memory."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from honcho_memory.adapters.deerflow.shapes import found_item, how_many
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.results import Fact, SaidMessage

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_fact_has_what_the_tools_need() -> None:
    """By its id the model changes it; without a thread it counts as entered by hand."""
    fact = Fact("f1", "She cycles.", "habit", 0.9, NOON, thread_id=None)

    assert {
        "id": "f1",
        "content": "She cycles.",
        "category": "habit",
        "confidence": 0.9,
        "createdAt": "2026-03-01T12:00:00Z",
        "source": "manual",
    } == found_item(fact, Identities())


def test_a_fact_says_which_thread_it_is_from() -> None:
    """DeerFlow shows it as a link."""
    fact = Fact("f1", "She cycles.", "habit", 0.9, NOON, thread_id="thread-1")

    assert "thread-1" == found_item(fact, Identities())["source"]


def test_a_message_cannot_be_taken_for_a_fact() -> None:
    """It has no id that the tools could change it by, and no confidence."""
    message = SaidMessage("m1", "I cycle.", "df-t-1", "ada", NOON)

    assert {
        "content": "I cycle.",
        "category": "memory",
        "session_id": "df-t-1",
        "peer_id": "ada",
        "created_at": "2026-03-01T12:00:00Z",
        "createdAt": "2026-03-01T12:00:00Z",
        "source": "df-t-1",
    } == found_item(message, Identities())


@given(st.text(st.characters()))
def test_what_is_found_can_be_sent(content: str) -> None:
    """The tools answer in JSON and UTF-8, whatever Honcho holds."""
    fact = Fact("f1", content, "habit", 0.9, NOON, thread_id=None)
    message = SaidMessage("m1", content, "df-t-1", "ada", NOON)

    found = [found_item(item, Identities()) for item in (fact, message)]

    assert found == json.loads(json.dumps(found, ensure_ascii=False).encode())


@given(st.integers())
def test_a_number_is_that_number(number: int) -> None:
    """Also when a model writes it as a text, up to what any search could give."""
    assert number == how_many(number)
    assert max(-1000, min(1000, number)) == how_many(str(max(-1000, min(1000, number))))


@given(st.none() | st.booleans() | st.text() | st.floats() | st.lists(st.integers()))
def test_nonsense_is_no_error(given_number: object) -> None:
    """Whatever a model writes, a search is made."""
    assert isinstance(how_many(given_number), int)
