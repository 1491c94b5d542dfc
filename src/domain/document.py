"""The memory document: what DeerFlow shows, exports and imports, as its default memory has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from honcho_memory.domain.errors import InvalidFact
from honcho_memory.domain.facts import FactDraft, draft_of
from honcho_memory.domain.recall import (
    CARD_HEADING,
    REPRESENTATION_HEADING,
    Answer,
    injection_text,
)
from honcho_memory.domain.results import Document, Fact, Skipped
from honcho_memory.domain.text import repair

VERSION = "1.0"
SECTIONS = {
    "user": ("workContext", "personalContext", "topOfMind"),
    "history": ("recentMonths", "earlierContext", "longTermBackground"),
}
NO_THREAD = "manual"
"""The source of a fact that no thread is known for; DeerFlow shows any other as a link to one."""


def iso(moment: datetime) -> str:
    """A moment as ISO 8601 in UTC, with Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def to_mapping(document: Document, now: datetime, *, budget: int) -> dict[str, Any]:
    """A document with every field that DeerFlow's settings page can import again.

    Args:
        document: What is known of the user; the conclusions become the summary of
            `workContext`, the peer card that of `personalContext`.
        now: When all of it was updated, if it has no fact.
        budget: The most characters of a summary.
    """
    updated_at = iso(max((fact.created_at for fact in document.facts), default=now))
    texts = {
        "workContext": injection_text(Answer(document.representation), budget=budget),
        "personalContext": injection_text(Answer("", document.card), budget=budget),
    }
    sections = {
        part: {name: {"summary": texts.get(name, ""), "updatedAt": updated_at} for name in names}
        for part, names in SECTIONS.items()
    }
    facts = [fact_mapping(fact) for fact in document.facts]
    return {"version": VERSION, "lastUpdated": updated_at, **sections, "facts": facts}


def fact_mapping(fact: Fact) -> dict[str, Any]:
    """A fact as DeerFlow shows it."""
    return {
        "id": fact.id,
        "content": repair(fact.content),
        "category": fact.category,
        "confidence": fact.confidence,
        "createdAt": iso(fact.created_at),
        "source": fact.thread_id or NO_THREAD,
    }


def read_document(raw: object) -> tuple[dict[str, FactDraft], list[Skipped]]:
    """The facts of a document, DeerFlow's default memory's or ours.

    A summary is a fact too, of its section's name as category, unless it is one that
    `to_mapping` made: what Honcho has concluded is not new to it.

    Returns:
        The facts by their place, and the entries that are none.

    Raises:
        InvalidFact: It is no memory document at all.
    """
    if not isinstance(raw, Mapping):
        raise InvalidFact(f"a memory document must be a mapping, not {type(raw).__name__}")
    document = cast("Mapping[str, object]", raw)
    if not document.keys() & {"facts", *SECTIONS}:
        raise InvalidFact("a memory document must have facts or summaries, and this has neither")
    facts = document.get("facts")
    if facts is None:
        facts = list[object]()
    if not isinstance(facts, list):
        raise InvalidFact(
            f"the facts of a memory document must be a list, not {type(facts).__name__}"
        )
    drafts: dict[str, FactDraft] = {}
    skipped: list[Skipped] = []
    entries = [*_fact_entries(cast("list[object]", facts)), *_summaries(document)]
    for place, entry in entries:
        try:
            drafts[place] = _draft(entry)
        except InvalidFact as error:
            skipped.append(Skipped(place, str(error)))
    return drafts, skipped


def _draft(entry: object) -> FactDraft:
    if not isinstance(entry, Mapping):
        raise InvalidFact(f"a fact must be a mapping, not {type(entry).__name__}")
    fact = cast("Mapping[str, object]", entry)
    return draft_of(fact.get("content"), fact.get("category"), fact.get("confidence"))


def _fact_entries(facts: list[object]) -> Iterator[tuple[str, object]]:
    for number, fact in enumerate(facts):
        yield f"facts[{number}]", fact


def _summaries(document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for part, names in SECTIONS.items():
        sections = document.get(part)
        for name in names:
            section = (
                cast("Mapping[str, object]", sections).get(name)
                if isinstance(sections, Mapping)
                else None
            )
            summary = (
                cast("Mapping[str, object]", section).get("summary")
                if isinstance(section, Mapping)
                else section
            )
            is_text = isinstance(summary, str) and summary.strip()
            if is_text and not _is_ours(cast("str", summary)):
                yield f"{part}.{name}", {"content": summary, "category": name}


def _is_ours(summary: str) -> bool:
    return summary.lstrip().startswith((CARD_HEADING, REPRESENTATION_HEADING))
