"""What a setting may be, and how an error says so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from honcho_memory.domain.errors import ConfigurationError

VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")

_LONGEST_TIMEOUT = 600
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a setting may be, as an error says it: "<setting> must be <text>"."""

    text: str


def one_of(choices: type[StrEnum], remark: str = "") -> Allowed:
    """Any of these, and what else there is to say of them."""
    *others, last = (f"'{choice}'" for choice in choices)
    return Allowed(f"{', '.join(others)} or {last}{remark}")


def _number(value: object) -> object:
    """Refuse what pydantic would take for a number."""
    if isinstance(value, bool | bytes | bytearray):
        raise ValueError("not a number")  # noqa: TRY004 - pydantic lets a TypeError through
    return value


def _flag(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _user_id(value: object) -> object:
    """YAML gives an id of digits as a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _url(value: str) -> str:
    if any(mark in value for mark in "@?#"):
        raise ConfigurationError(
            "base_url must have no user name, password, query or fragment (what was given is not "
            "shown); a key belongs into api_key or api_key_env"
        )
    parts = urlsplit(value)
    if not VISIBLE_ASCII.fullmatch(value) or "\\" in value or parts.port == 0:
        raise ValueError("not a URL")
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(parts.hostname or ""):
        raise ValueError("not a URL of http with a host")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}".rstrip("/")


def _path(value: object) -> object:
    return str(value) if isinstance(value, PurePath) else value


A_TEXT = Allowed("a text; YAML needs quotes around digits")
Text = Annotated[str, Field(strict=True), A_TEXT]
Folder = Annotated[Text, BeforeValidator(_path)]
UserId = Annotated[Text, BeforeValidator(_user_id)]
Url = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_url),
    Allowed("http:// or https:// with a host, and at most a port and a path after it"),
]
Flag = Annotated[bool, BeforeValidator(_flag), Allowed("true or false")]
Whole = Annotated[int, BeforeValidator(_number)]
Count = Annotated[Whole, Field(gt=0), Allowed("a whole number greater than 0")]
Seconds = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
TimeLimit = Annotated[
    Seconds,
    Field(gt=0, le=_LONGEST_TIMEOUT),
    Allowed(f"a number of seconds greater than 0 and at most {_LONGEST_TIMEOUT}"),
]
AN_AGE = Allowed("a finite number of seconds, 0 or more")
Age = Annotated[Seconds, Field(ge=0), AN_AGE]
