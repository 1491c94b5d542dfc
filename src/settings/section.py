"""A mapping of settings, as hosts write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo


class Section(BaseModel):
    """A mapping of settings, in which null stands for the default."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_what_is_not_set(cls, given: object) -> object:
        mapping = as_mapping(given)
        if mapping is None:
            return given
        return {
            key: mapping[key]
            for key, field in cls.model_fields.items()
            if key in mapping and not _stands_for_default(mapping[key], field.default)
        }


def as_mapping(value: object) -> Mapping[str, object] | None:
    """The value, if it is a mapping."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def section_of(field: FieldInfo) -> type[Section] | None:
    """The section that a setting holds, if it holds one."""
    return type(field.default) if isinstance(field.default, Section) else None


def _stands_for_default(value: object, default: object) -> bool:
    """Null does; so does an empty environment variable where no text is due."""
    if isinstance(value, str) and not value.strip():
        return default is None or isinstance(default, int | float)
    return value is None
