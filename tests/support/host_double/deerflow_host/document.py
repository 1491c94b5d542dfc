"""The memory document, as the gateway answers with it and the settings page imports it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

_MOMENT = TypeAdapter[AwareDatetime](AwareDatetime)


class _Part(BaseModel):
    """Whatever is missing is filled in, whatever is unknown is dropped."""

    model_config = ConfigDict(alias_generator=to_camel)


class Section(_Part):
    summary: str = ""
    updated_at: str = ""


class UserContext(_Part):
    work_context: Section = Section()
    personal_context: Section = Section()
    top_of_mind: Section = Section()


class History(_Part):
    recent_months: Section = Section()
    earlier_context: Section = Section()
    long_term_background: Section = Section()


class Fact(_Part):
    id: str
    content: str
    category: str = "context"
    confidence: float = 0.5
    created_at: str = ""
    source: str = "unknown"


class Document(_Part):
    """What the gateway makes of a backend's document."""

    version: str = "1.0"
    last_updated: str = ""
    user: UserContext = UserContext()
    history: History = History()
    facts: list[Fact] = Field(default_factory=list[Fact])

    def can_be_imported(self) -> bool:
        """Whether the settings page takes it back: nothing is missing, and dates are dates."""
        return all(
            part.model_fields_set == set(type(part).model_fields) and _has_dates(part)
            for part in _parts(self)
        )


def _parts(value: object) -> Iterator[BaseModel]:
    """A model and every model in it."""
    if isinstance(value, BaseModel):
        yield value
        for _, inner in value:
            yield from _parts(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _parts(inner)


def _has_dates(part: BaseModel) -> bool:
    """Whether what is a date in it is ISO 8601 with Z."""
    dates = [
        str(value) for name, value in part if name in {"updated_at", "created_at", "last_updated"}
    ]
    return all(date.endswith("Z") and _MOMENT.validate_python(date) for date in dates)
