"""What the router answers with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from honcho_memory.domain.document import fact_mapping
from honcho_memory.domain.profile import Profile
from honcho_memory.domain.results import Cleared, Fact, Imported, SaidMessage
from honcho_memory.domain.text import repair


class _DeerFlows(BaseModel):
    """Has the names that DeerFlow's settings page reads."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class MemoryFact(_DeerFlows):
    """A statement about the user."""

    id: str = Field(description="What it is changed and deleted by.", examples=["V1StGXR8_Z5jdHi"])
    content: str = Field(description="What is so.", examples=["Likes tea."])
    category: str = Field(description="Any word.", examples=["preference"])
    confidence: float = Field(description="How sure it is: 0 to 1.", examples=[0.9])
    created_at: datetime = Field(description="When it was made.")
    source: str = Field(
        description="The thread that it was drawn from; `manual` when that is not known.",
        examples=["manual"],
    )

    @classmethod
    def of(cls, fact: Fact) -> Self:
        """A fact, as it is shown."""
        return cls.model_validate(_clean(fact_mapping(fact)))


class MemoryFacts(BaseModel):
    """All facts about the user."""

    facts: list[MemoryFact] = Field(description="Newest first.")


class Summary(_DeerFlows):
    """What is known, in a text."""

    summary: str = Field(description="Lines, of which nothing is an instruction.")
    updated_at: datetime = Field(description="When it last changed.")


class UserSummaries(_DeerFlows):
    """Of the present."""

    work_context: Summary = Field(description="What Honcho has concluded.")
    personal_context: Summary = Field(description="The profile.")
    top_of_mind: Summary = Field(description="Empty.")


class HistorySummaries(_DeerFlows):
    """Of the past; empty."""

    recent_months: Summary
    earlier_context: Summary
    long_term_background: Summary


class MemoryDocument(_DeerFlows):
    """All that is known of the user, in the shape of DeerFlow's memory document."""

    version: str = Field(description="Of the shape.", examples=["1.0"])
    last_updated: datetime = Field(description="When something last changed.")
    user: UserSummaries
    history: HistorySummaries
    facts: list[MemoryFact] = Field(description="Newest first.")

    @classmethod
    def of(cls, mapping: dict[str, object]) -> Self:
        """What `to_mapping` made."""
        return cls.model_validate(_clean(mapping))


class MemoryProfile(BaseModel):
    """What the user wants to be known by."""

    form_of_address: str | None = Field(
        description="How the user wants to be addressed; null when they have not said.",
        examples=["Ada"],
    )
    interests: list[str] = Field(description="What the user likes to hear of.", examples=[["tea"]])
    lines: list[str] = Field(
        description="Whatever else; Honcho may add some of its own.",
        examples=[["Works at night."]],
    )

    @classmethod
    def of(cls, profile: Profile) -> Self:
        """A profile, as it is shown."""
        return cls(
            form_of_address=profile.form_of_address,
            interests=list(profile.interests),
            lines=list(profile.lines),
        )


class SkippedEntry(BaseModel):
    """What could not be imported."""

    place: str = Field(description="Where it was.", examples=["facts[3]"])
    reason: str = Field(description="What is wrong with it.")


class ImportResult(BaseModel):
    """What an import did."""

    added: int = Field(description="How many facts are new.", examples=[12])
    duplicates: int = Field(description="How many were there already.", examples=[3])
    skipped: list[SkippedEntry] = Field(description="What could not be imported.")

    @classmethod
    def of(cls, imported: Imported) -> Self:
        """What an import did, as it is shown."""
        skipped = [
            SkippedEntry(place=each.place, reason=repair(each.reason)) for each in imported.skipped
        ]
        return cls(added=imported.added, duplicates=imported.duplicates, skipped=skipped)


class ClearResult(BaseModel):
    """What clearing the memory did."""

    sessions: list[str] = Field(
        description="The sessions that Honcho deletes now, in its own time."
    )
    kept_sessions: list[str] = Field(
        description="Sessions with other people, in which what the user said stays."
    )
    conclusions: int = Field(description="How many facts were deleted.", examples=[12])

    @classmethod
    def of(cls, cleared: Cleared) -> Self:
        """What clearing did, as it is shown."""
        return cls(
            sessions=list(cleared.sessions),
            kept_sessions=list(cleared.kept_sessions),
            conclusions=cleared.conclusions,
        )


class FoundFact(MemoryFact):
    """A fact that was found."""

    kind: Literal["fact"] = "fact"


class FoundMessage(_DeerFlows):
    """Something that was said."""

    kind: Literal["message"] = "message"
    id: str = Field(description="Honcho's own id.")
    content: str = Field(description="The text.", examples=["I would like some tea."])
    category: str = Field(description="Always `memory`.", examples=["memory"])
    session: str = Field(description="Where it was said: Honcho's id of the conversation.")
    peer: str = Field(description="Who said it: Honcho's id of them.")
    created_at: datetime = Field(description="When it was said.")

    @classmethod
    def of(cls, said: SaidMessage) -> Self:
        """A message, as it is shown."""
        return cls(
            id=said.id,
            content=repair(said.content),
            category=said.category,
            session=said.session,
            peer=said.peer,
            created_at=said.created_at,
        )


Hit = Annotated[FoundFact | FoundMessage, Field(discriminator="kind")]


class SearchResult(BaseModel):
    """What a search found."""

    hits: list[Hit] = Field(description="Facts, then messages; the best of each first.")


class Health(BaseModel):
    """How the memory is."""

    status: Annotated[Literal["ok"], Field(description="It can be used, as far as is known.")] = (
        "ok"
    )


def _clean(value: object) -> object:
    """With what cannot be sent replaced: a store may hold anything."""
    if isinstance(value, str):
        return repair(value)
    if isinstance(value, list):
        return [_clean(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in cast("dict[str, object]", value).items()}
    return value
