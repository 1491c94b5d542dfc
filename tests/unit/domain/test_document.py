"""The memory document, to DeerFlow and from it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from deerflow_host.document import Document as DeerFlowDocument
from hypothesis import given
from hypothesis import strategies as st

from honcho_memory.domain.document import iso, read_document, to_mapping
from honcho_memory.domain.errors import InvalidFact
from honcho_memory.domain.facts import FactDraft
from honcho_memory.domain.results import Document, Fact

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=1)
FACTS = (
    Fact("f2", "Cycles.", "habit", 0.9, LATER, "thread-1"),
    Fact("f1", "Likes tea.", "context", 0.5, NOON, None),
)
FULL = Document("## Explicit Observations\n\nLikes tea.", ("Name: Ada",), FACTS)


def test_a_moment_is_in_utc_with_z() -> None:
    """DeerFlow's settings page reads no other offset."""
    in_lisbon = NOON.astimezone(timezone(timedelta(hours=1)))

    assert "2026-03-01T12:00:00Z" == iso(in_lisbon)
    assert "2026-03-01T12:00:00.000001Z" == iso(NOON + timedelta(microseconds=1))


@pytest.mark.parametrize("document", [Document(), FULL])
def test_a_document_can_be_imported_again(document: Document) -> None:
    """The settings page needs every section, also of a user of whom nothing is known."""
    made = DeerFlowDocument.model_validate(to_mapping(document, NOON, budget=1000))

    assert made.can_be_imported()


def test_a_document_tells_all() -> None:
    """Facts with everything that they have, conclusions and card as summaries, the newest time."""
    made = to_mapping(FULL, NOON, budget=1000)

    assert "- Likes tea." in made["user"]["workContext"]["summary"]
    assert "- Name: Ada" in made["user"]["personalContext"]["summary"]
    assert iso(LATER) == made["lastUpdated"]
    assert {
        "id": "f2",
        "content": "Cycles.",
        "category": "habit",
        "confidence": 0.9,
        "createdAt": iso(LATER),
        "source": "thread-1",
    } == made["facts"][0]
    assert "manual" == made["facts"][1]["source"]


def test_a_summary_is_within_the_budget() -> None:
    """As what is injected."""
    long = Document("\n".join(f"Line {number}" for number in range(1000)))

    assert 200 >= len(to_mapping(long, NOON, budget=200)["user"]["workContext"]["summary"])


def test_our_own_export_comes_back_as_its_facts() -> None:
    """Its summaries say nothing that Honcho does not conclude by itself."""
    drafts, skipped = read_document(to_mapping(FULL, NOON, budget=1000))

    assert [FactDraft("Cycles.", "habit", 0.9), FactDraft("Likes tea.", "context", 0.5)] == list(
        drafts.values()
    )
    assert [] == skipped


def test_the_default_memory_of_deerflow_can_be_taken_over() -> None:
    """Its summaries are kept as facts, of the category of their section."""
    document = {
        "version": "1.0",
        "user": {"workContext": {"summary": "Builds compilers."}, "topOfMind": "A release."},
        "history": {"recentMonths": {"summary": " "}, "earlierContext": {"summary": 5}},
        "facts": [{"id": "1", "content": "Likes tea.", "category": None}],
    }

    drafts, skipped = read_document(document)

    assert {
        "facts[0]": FactDraft("Likes tea.", "context", 0.5),
        "user.workContext": FactDraft("Builds compilers.", "workContext", 0.5),
        "user.topOfMind": FactDraft("A release.", "topOfMind", 0.5),
    } == drafts
    assert [] == skipped


def test_bad_entries_are_named_and_skipped() -> None:
    """One of them does not cost the others."""
    bad: list[Any] = ["text", {"content": " "}, {"content": "x", "confidence": 2}]
    facts = [*bad, {"content": "y"}]

    drafts, skipped = read_document({"facts": facts})

    assert ["facts[3]"] == list(drafts)
    assert ["facts[0]", "facts[1]", "facts[2]"] == [each.place for each in skipped]
    assert "must be a mapping, not str" in skipped[0].reason


@pytest.mark.parametrize("raw", [None, [], "text", {}, {"a": 1}, {"facts": {}}, {"facts": "x"}])
def test_what_is_no_document_is_refused(raw: object) -> None:
    """A wrong file is not imported as an empty one."""
    with pytest.raises(InvalidFact, match="memory document"):
        read_document(raw)


JUNK = st.recursive(
    st.none() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.fixed_dictionaries({"facts": st.lists(JUNK)}, optional={"user": JUNK, "history": JUNK}))
def test_reading_is_total(raw: dict[str, object]) -> None:
    """Whatever a document holds, its entries are facts or skipped."""
    drafts, skipped = read_document(raw)

    assert all(draft.content.strip() for draft in drafts.values())
    assert not {each.place for each in skipped} & drafts.keys()
