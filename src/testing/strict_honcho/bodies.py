"""The request bodies, in pydantic: what is wrong with one is worded as the real server words it."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, model_validator

from honcho_memory.testing.strict_honcho.json_shapes import is_list, is_object

CONTROL_TOKENS = ("<|endoftext|>", "<|endofprompt|>")
_MAX_METADATA_KEYS = 100
_MAX_METADATA_DEPTH = 5


def _without_nul(text: str) -> str:
    return text.replace("\x00", "")


def _without_control_tokens(text: str) -> str:
    for token in CONTROL_TOKENS:
        if token in text:
            raise ValueError(
                f"Encountered text corresponding to disallowed special token '{token}'."
            )
    return text


def _storable(value: Any) -> Any:
    """Strip NUL throughout; a number that the database has not is an unexpected error there."""
    if isinstance(value, str):
        return _without_nul(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise RuntimeError("the database refuses this number")
    if is_object(value):
        return {_without_nul(name): _storable(item) for name, item in value.items()}
    if is_list(value):
        return [_storable(item) for item in value]
    return value


def _depth(value: Any) -> int:
    if is_object(value):
        return 1 + max(map(_depth, value.values()), default=0)
    if is_list(value):
        return max(map(_depth, value), default=0)
    return 0


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) > _MAX_METADATA_KEYS:
        raise ValueError(f"metadata has more than {_MAX_METADATA_KEYS} keys")
    if _depth(value) > _MAX_METADATA_DEPTH:
        raise ValueError(f"metadata is nested deeper than {_MAX_METADATA_DEPTH}")
    stored: dict[str, Any] = _storable(value)
    return stored


Name = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[a-zA-Z0-9_-]+$")]
Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]
Query = Annotated[str, AfterValidator(_without_control_tokens)]


class Message(BaseModel):
    content: Annotated[str, Field(max_length=25_000), AfterValidator(_without_nul)]
    peer_id: str
    metadata: Metadata | None = None
    created_at: datetime | None = None

    @model_validator(mode="after")
    def _count_tokens(self) -> Message:
        _without_control_tokens(self.content)
        return self


class MessageBatch(BaseModel):
    messages: Annotated[list[Message], Field(min_length=1, max_length=100)]


class Workspace(BaseModel):
    id: Name
    metadata: Metadata | None = None
    configuration: dict[str, Any] | None = None


class Peer(BaseModel):
    id: Name
    metadata: Metadata | None = None
    configuration: dict[str, Any] | None = None


class Membership(BaseModel):
    observe_me: bool | None = None
    observe_others: bool | None = None


class Session(BaseModel):
    id: Name
    metadata: Metadata | None = None
    configuration: dict[str, Any] | None = None
    peers: dict[Name, Membership] | None = None


class Update(BaseModel):
    metadata: Metadata | None = None
    configuration: dict[str, Any] | None = None


class Listing(BaseModel):
    filters: dict[str, Any] | None = None


class Search(BaseModel):
    query: Query
    filters: dict[str, Any] | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class Representation(BaseModel):
    max_conclusions: Annotated[int, Field(ge=1, le=100)] = 25
    search_query: Query | None = None


class Card(BaseModel):
    peer_card: list[str]


class Conclusion(BaseModel):
    content: Annotated[
        str,
        Field(min_length=1, max_length=65_535),
        AfterValidator(_without_nul),
        AfterValidator(_without_control_tokens),
    ]
    observer_id: str
    observed_id: str
    session_id: str | None = None


class ConclusionBatch(BaseModel):
    conclusions: Annotated[list[Conclusion], Field(min_length=1, max_length=100)]


class ConclusionQuery(BaseModel):
    query: Query
    filters: dict[str, Any] | None = None
    top_k: Annotated[int, Field(ge=1, le=100)] = 10
    distance: Annotated[float, Field(ge=0, le=1)] | None = None
