"""The JSON of the Honcho v3 API, as far as this library speaks it.

What comes in is checked strictly: other services answer with 200 too. Validation errors do not
show the input, which is made of users' words, and end at the first of a list: a megabyte of wrong
items would make gigabytes of errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from honcho_memory.domain.errors import HonchoRejected
from honcho_memory.domain.messages import Conclusion, Outgoing, StoredMessage

MESSAGE_KEY = "host_message_id"
"""The name of a message's key in its metadata."""

_NOT_FOUND = re.compile(
    r"(Workspace|Session|Peer|Message|Conclusion|Document|Observation)\b.* not found", re.DOTALL
)
_STRICT = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

Id = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^[a-zA-Z0-9_-]+$")]
"""Honcho's id grammar; names and generated ids alike."""


class MessageBody(BaseModel):
    """A message as Honcho shows it."""

    model_config = _STRICT

    id: Id
    content: str
    peer_id: Id
    session_id: Id
    created_at: AwareDatetime
    metadata: dict[str, object]

    def stored(self) -> StoredMessage:
        """As the core sees it."""
        key = self.metadata.get(MESSAGE_KEY)
        return StoredMessage(
            id=self.id,
            key=key if isinstance(key, str) and key else None,
            author=self.peer_id,
            session=self.session_id,
            content=self.content,
            created_at=self.created_at,
        )


class MessagePageBody(BaseModel):
    """A page of messages; `pages` is how many there are, 0 of an empty list."""

    model_config = _STRICT

    items: Annotated[list[MessageBody], Field(fail_fast=True)]
    pages: int


class ConclusionBody(BaseModel):
    """A conclusion as Honcho shows it."""

    model_config = _STRICT

    id: Id
    content: str
    observer_id: str
    session_id: Id | None
    created_at: AwareDatetime

    def conclusion(self) -> Conclusion:
        """As the core sees it."""
        return Conclusion(self.id, self.content, self.observer_id, self.session_id, self.created_at)


class ConclusionPageBody(BaseModel):
    """A page of conclusions; `pages` is how many there are, 0 of an empty list."""

    model_config = _STRICT

    items: Annotated[list[ConclusionBody], Field(fail_fast=True)]
    pages: int
    total: int


class PeerBody(BaseModel):
    """A peer as Honcho shows it."""

    model_config = _STRICT

    id: Id
    workspace_id: Id
    metadata: dict[str, object]


class NamedBody(BaseModel):
    """A peer or session that may be another program's, and named by other rules."""

    model_config = _STRICT

    id: str
    workspace_id: str


class NamePageBody(BaseModel):
    """A page of peers or sessions; `pages` is how many there are, 0 of an empty list."""

    model_config = _STRICT

    items: Annotated[list[NamedBody], Field(fail_fast=True)]
    pages: int


class RepresentationBody(BaseModel):
    """What Honcho knows of a peer."""

    model_config = _STRICT

    representation: str


class CardBody(BaseModel):
    """A peer's card; None when it has none."""

    model_config = _STRICT

    peer_card: Annotated[list[str], Field(fail_fast=True)] | None


class AcceptedBody(BaseModel):
    """That something will be done in the background."""

    model_config = _STRICT

    message: str


class HealthBody(BaseModel):
    """How a server is."""

    model_config = _STRICT

    status: str


ACCEPTED = TypeAdapter(AcceptedBody)
CARD = TypeAdapter(CardBody)
CONCLUSIONS = TypeAdapter(Annotated[list[ConclusionBody], Field(fail_fast=True)], config=_STRICT)
CONCLUSION_PAGE = TypeAdapter(ConclusionPageBody)
HEALTH = TypeAdapter(HealthBody)
MESSAGES = TypeAdapter(Annotated[list[MessageBody], Field(fail_fast=True)], config=_STRICT)
MESSAGE_PAGE = TypeAdapter(MessagePageBody)
NAME_PAGE = TypeAdapter(NamePageBody)
PEER = TypeAdapter(PeerBody)
REPRESENTATION = TypeAdapter(RepresentationBody)


class _Problem(BaseModel):
    model_config = _STRICT

    loc: Annotated[list[str | int], Field(fail_fast=True)]
    msg: str


class _ErrorBody(BaseModel):
    model_config = _STRICT

    detail: str | Annotated[list[_Problem], Field(fail_fast=True)]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the body of a 4xx says.

    Attributes:
        reason: In words; empty when the body is none of Honcho's.
        items: Positions in the sent batch of messages or conclusions with what is wrong with each.
    """

    reason: str = ""
    items: Mapping[int, str] = field(default_factory=dict[int, str])

    @property
    def says_not_found(self) -> bool:
        """Whether Honcho says so: a path that a server does not have is worded otherwise."""
        return _NOT_FOUND.match(self.reason) is not None

    @classmethod
    def read(cls, body: bytes) -> Refusal:
        """Read a body of any kind."""
        try:
            detail = _ErrorBody.model_validate_json(body).detail
        except ValidationError:
            return cls()
        if isinstance(detail, str):
            return cls(detail)
        items: dict[int, str] = {}
        for problem in detail:
            match problem.loc:
                case ["body", "messages" | "conclusions", int(index), *_] if index >= 0:
                    items.setdefault(index, problem.msg)
                case _:
                    pass
        reason = "; ".join(f"{'.'.join(map(str, p.loc))}: {p.msg}" for p in detail)
        return cls(reason, items)


def encode(value: object) -> bytes:
    """JSON for a request.

    Raises:
        HonchoRejected: It holds what JSON or UTF-8 cannot express, such as half a surrogate pair.
    """
    try:
        return _dump(value)
    except (TypeError, ValueError) as exc:
        raise HonchoRejected(f"the request cannot be sent as JSON: {exc}") from exc


def encode_messages(messages: Sequence[Outgoing]) -> bytes:
    """The body that adds messages.

    Raises:
        HonchoRejected: As `encode` does; `refused` names the messages.
    """
    return _encode_batch("messages", [_message(message) for message in messages])


def encode_conclusions(peer: str, contents: Sequence[str]) -> bytes:
    """The body that creates a peer's conclusions about itself.

    Raises:
        HonchoRejected: As `encode` does; `refused` names the conclusions.
    """
    about = {"observer_id": peer, "observed_id": peer}
    return _encode_batch("conclusions", [{"content": content, **about} for content in contents])


def _encode_batch(name: str, items: Sequence[object]) -> bytes:
    try:
        return _dump({name: items})
    except (TypeError, ValueError) as exc:
        raise HonchoRejected(
            f"{name} cannot be sent as JSON: {exc}", refused=dict(_unsendable(items))
        ) from exc


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _message(message: Outgoing) -> dict[str, object]:
    return {
        "peer_id": message.author,
        "content": message.content,
        "metadata": dict(message.metadata),
        "created_at": message.created_at.isoformat(),
    }


def _unsendable(items: Sequence[object]) -> Iterator[tuple[int, str]]:
    for index, item in enumerate(items):
        try:
            _dump(item)
        except (TypeError, ValueError) as exc:
            yield index, str(exc)


def key_filter(keys: Sequence[str], *, or_without_key: bool) -> dict[str, object]:
    """The filter for messages with one of these keys, or also for those that have none."""
    with_key: dict[str, object] = {"metadata": {MESSAGE_KEY: {"in": list(keys)}}}
    if not or_without_key:
        return with_key
    without_key: dict[str, object] = {"NOT": [{"metadata": {MESSAGE_KEY: {"ne": ""}}}]}
    return {"OR": [with_key, without_key]}
