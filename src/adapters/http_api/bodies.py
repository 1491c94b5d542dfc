"""What is sent to the router."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from honcho_memory.domain.facts import (
    DEFAULT_CATEGORY,
    DEFAULT_CONFIDENCE,
    LONGEST_CATEGORY,
    LONGEST_FACT,
)
from honcho_memory.domain.profile import LONGEST_LINE, MOST_LINES, Profile

MOST_INTERESTS = 40
MOST_FREE_LINES = MOST_LINES - MOST_INTERESTS - 1
"""A profile with as many of both, and a form of address, is one that can be kept."""

# What is white space differs between Python, Rust and JavaScript, and so it is said at length.
_BREAKS = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_BLANK = rf"\s{_BREAKS}\x1f\x00\ufeff"
VISIBLE_TEXT = f"(^|[{_BLANK}])[^{_BLANK}]"
_VISIBLE_LINE = f"^[^{_BREAKS}]*[^{_BLANK}][^{_BREAKS}]*$"

Content = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_FACT,
        pattern=VISIBLE_TEXT,
        description="What is so; white space around it is removed.",
        examples=["Likes tea."],
    ),
]
Category = Annotated[
    str, Field(max_length=LONGEST_CATEGORY, description="Any word.", examples=["preference"])
]
Confidence = Annotated[
    float,
    Field(ge=0, le=1, allow_inf_nan=False, description="How sure it is.", examples=[0.9]),
]
Line = Annotated[str, Field(min_length=1, max_length=LONGEST_LINE, pattern=_VISIBLE_LINE)]


class _Body(BaseModel):
    """Is exactly what it says: a misspelt name would otherwise do nothing."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewFact(_Body):
    """A fact to add."""

    content: Content
    category: Category | None = Field(None, description=f"Null for `{DEFAULT_CATEGORY}`.")
    confidence: Confidence | None = Field(
        None, description=f"How sure it is; null for {DEFAULT_CONFIDENCE}."
    )


class FactChange(_Body):
    """What is to be different about a fact; what is null or missing stays."""

    content: Content | None = Field(None, description="What is so.")
    category: Category | None = Field(None, description="Any word.")
    confidence: Confidence | None = Field(None, description="How sure it is.")


class NewProfile(_Body):
    """What the user wants to be known by, in the place of all that there was before."""

    form_of_address: Line | None = Field(
        None, description="How the user wants to be addressed.", examples=["Ada"]
    )
    interests: list[Line] = Field(
        [],
        max_length=MOST_INTERESTS,
        description="What the user likes to hear of.",
        examples=[["tea"]],
    )
    lines: list[Line] = Field(
        [],
        max_length=MOST_FREE_LINES,
        description="Whatever else; a line each.",
        examples=[["Works at night."]],
    )

    def profile(self) -> Profile:
        """As the domain has it."""
        return Profile(self.form_of_address, tuple(self.interests), tuple(self.lines))


class DocumentToImport(BaseModel):
    """A memory document: what `export` gave, or a `memory.json` of DeerFlow's.

    It has facts or summaries; what else it has makes no difference. An entry that cannot be
    imported is skipped, and does not keep the others from it.
    """

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "anyOf": [{"required": [name]} for name in ("facts", "user", "history")],
            "examples": [{"facts": [{"content": "Likes tea.", "category": "preference"}]}],
        },
    )

    facts: list[Any] | None = Field(
        None, description="Objects with `content`, and perhaps `category` and `confidence`."
    )
    user: Any = Field(None, description="Summaries: each becomes a fact.")
    history: Any = Field(None, description="More of them.")

    def document(self) -> dict[str, Any]:
        """As it was sent."""
        return self.model_dump(exclude_unset=True)
