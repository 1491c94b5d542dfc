"""Every setting: its key, its default, what it may be.

A host gives a mapping, DeerFlow its `memory.backend_config`. Whatever is wrong with it is found
here, before anything is started, and no message shows a secret.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated, Self, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.policy import ReadPolicy, SearchScope
from honcho_memory.domain.text import MAX_MESSAGE_CHARS
from honcho_memory.domain.transcript import Overflow

_logger = logging.getLogger(__name__)

_A_DAY = 86_400
_LONGEST_TIMEOUT = 600
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(rf"\$(?:({_VARIABLE})|\{{({_VARIABLE})\}})")
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")
_MOST_SHOWN_OF_A_VALUE = 60
_MOST_SHOWN_OF_A_MESSAGE = 400
_TOO_LARGE_TO_SHOW = 10**20
_SHORTEST_KEY = 8
"""A shorter one is nobody's secret, and hiding it would tear holes into our own words."""


class Delivery(StrEnum):
    """How turn messages get to Honcho."""

    DURABLE = "durable"
    """Kept on disk until they are delivered."""
    BACKGROUND = "background"
    """Kept in memory until they are delivered."""
    INLINE = "inline"
    """As `background`, but the caller waits; what is not delivered in time is dropped."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a setting may be, as an error says it: "<setting> must be <text>"."""

    text: str


def _one_of(choices: type[StrEnum], remark: str = "") -> Allowed:
    *others, last = (f"'{choice}'" for choice in choices)
    return Allowed(f"{', '.join(others)} or {last}{remark}")


def _number(value: object) -> object:
    """Pydantic would take these for numbers."""
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
    if not _VISIBLE_ASCII.fullmatch(value) or "\\" in value or parts.port == 0:
        raise ValueError("not a URL")
    if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(parts.hostname or ""):
        raise ValueError("not a URL of http with a host")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}".rstrip("/")


def _path(value: object) -> object:
    return str(value) if isinstance(value, PurePath) else value


_A_TEXT = Allowed("a text; YAML needs quotes around digits")
Text = Annotated[str, Field(strict=True), _A_TEXT]
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
Age = Annotated[Seconds, Field(ge=0), Allowed("a finite number of seconds, 0 or more")]


class _Section(BaseModel):
    """A mapping of settings, in which null stands for the default."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_what_is_not_set(cls, given: object) -> object:
        mapping = _as_mapping(given)
        if mapping is None:
            return given
        return {
            key: mapping[key]
            for key, field in cls.model_fields.items()
            if key in mapping and not _stands_for_default(mapping[key], field.default)
        }


def _as_mapping(value: object) -> Mapping[str, object] | None:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def _section(field: FieldInfo) -> type[_Section] | None:
    return type(field.default) if isinstance(field.default, _Section) else None


def _stands_for_default(value: object, default: object) -> bool:
    """Null does; so does an empty environment variable where no text is due."""
    if isinstance(value, str) and not value.strip():
        return default is None or isinstance(default, int | float)
    return value is None


class FailurePolicy(_Section):
    """What happens when Honcho cannot be asked."""

    read: Annotated[
        ReadPolicy, _one_of(ReadPolicy, ", in lower case, because DeerFlow reads it too")
    ] = Field(
        default=ReadPolicy.FAIL_OPEN,
        description=(
            "When memory cannot be read, `fail_open` logs it and lets the agent go on without, "
            "`fail_closed` raises and so stops the run."
        ),
    )


class RecallSettings(_Section):
    """How the memory of a user is fetched and how long it is kept."""

    deadline_seconds: TimeLimit = Field(
        default=4.0,
        description=(
            "How long a recall or a search may take in all, in seconds. DeerFlow itself gives up "
            "after 5."
        ),
    )
    fresh_seconds: Age = Field(
        default=30.0,
        description=(
            "For how many seconds an answer is served again without asking Honcho; 0 always asks."
        ),
    )
    stale_if_error_seconds: Annotated[
        float | None,
        BeforeValidator(_number),
        Field(ge=0, allow_inf_nan=False),
        Allowed("a finite number of seconds, 0 or more"),
    ] = Field(
        default=None,
        description=(
            "How old, in seconds, the last good answer may be that stands in when Honcho cannot "
            "be asked. Without it, 86,400 (a day) under `fail_open` and 0 under `fail_closed`."
        ),
    )
    max_conclusions: Annotated[
        Whole, Field(ge=1, le=100), Allowed("a whole number from 1 to 100")
    ] = Field(
        default=25, description="How many of Honcho's conclusions a recall asks for, 1 to 100."
    )
    peer_card: Flag = Field(
        default=True,
        description="Whether the user's peer card is put in front of the conclusions.",
    )


class OutboxSettings(_Section):
    """How much may wait to be delivered."""

    max_messages: Count = Field(
        default=10_000,
        description=(
            "How many messages may wait to be delivered. At the limit a turn is refused with a "
            "warning, and taken when its thread is handed over again."
        ),
    )
    max_bytes: Count = Field(
        default=64 * 1024 * 1024,
        description="How many bytes of text may wait to be delivered; 67,108,864 are 64 MiB.",
    )


class Settings(_Section):
    """The settings of one memory; `Settings.from_mapping` reads them."""

    base_url: Url = Field(
        default="http://localhost:8000",
        description="Where Honcho is, such as `https://api.honcho.dev`.",
    )
    api_key_env: Text | None = Field(
        default=None,
        description=(
            "The name of the environment variable that holds the API key. Better than `api_key` "
            "under DeerFlow, whose HTTP API shows its configuration."
        ),
    )
    api_key: SecretStr | None = Field(
        default=None,
        validate_default=True,
        description="The API key, or `$NAME` for that of an environment variable.",
    )
    allow_insecure_http: Flag = Field(
        default=False,
        description=(
            "Allows an API key over plain http, where anyone on the way can read it; meant for "
            "development on one machine."
        ),
    )
    workspace_prefix: Text = Field(
        default="deerflow-u-",
        description=(
            "What the name of a user's own workspace begins with. Changing it later leaves every "
            "memory behind."
        ),
    )
    workspace_overrides: Annotated[
        dict[UserId, Text], Allowed("a mapping of user ids to workspaces")
    ] = Field(
        default_factory=dict,
        description=(
            "Workspaces for particular user ids. Users with the same workspace share what a search "
            "finds."
        ),
    )
    user_peer_overrides: Annotated[
        dict[UserId, Text], Allowed("a mapping of user ids to peers")
    ] = Field(default_factory=dict, description="Peers for particular user ids.")
    assistant_peer: Text = Field(
        default="deerflow", description="The peer that says the assistant's answers."
    )
    assistant_observed: Flag = Field(
        default=False,
        description=(
            "Whether Honcho draws conclusions about the assistant too, which costs it model time."
        ),
    )
    anonymous_user_ids: Annotated[tuple[UserId, ...], Allowed("a list of user ids")] = Field(
        default=(),
        description=(
            "User ids that stand for nobody: nothing is remembered for them. DeerFlow says "
            "`default` when it has lost the user, and also when it runs without authentication."
        ),
    )
    id_digest_chars: Annotated[Whole, Allowed("8 or 32")] = Field(
        default=8,
        description=(
            "How many hex digits of a digest the ids in Honcho carry: 8 is what DeerFlow's "
            "built-in backend has, 32 suits a new deployment with very many or untrusted users. "
            "Changing it later orphans every memory."
        ),
    )
    timeout_seconds: TimeLimit = Field(
        default=10.0, description="How long one request to Honcho may take in all, in seconds."
    )
    connect_timeout_seconds: TimeLimit = Field(
        default=3.0, description="How long connecting to Honcho may take, in seconds."
    )
    message_char_limit: Annotated[
        Whole,
        Field(gt=0, le=MAX_MESSAGE_CHARS),
        Allowed(f"a whole number from 1 to {MAX_MESSAGE_CHARS:,}"),
    ] = Field(
        default=8_000,
        description=(
            "How many characters of one message are stored, at most 25,000; `overflow` says what "
            "becomes of the rest."
        ),
    )
    overflow: Annotated[Overflow, _one_of(Overflow)] = Field(
        default=Overflow.TRUNCATE,
        description=(
            "What becomes of a message over `message_char_limit`: `truncate` drops the rest, "
            "`split` stores it in several messages."
        ),
    )
    max_injection_chars: Count = Field(
        default=6_000,
        description="How many characters the text that a recall gives may have at most.",
    )
    backfill: Flag = Field(
        default=True,
        description=(
            "Whether the earlier messages of a thread that is new to this library are stored too, "
            "where Honcho lacks them. Otherwise remembering begins with the latest turn."
        ),
    )
    delivery: Annotated[Delivery | None, _one_of(Delivery)] = Field(
        default=None,
        description=(
            "How messages get to Honcho: `durable` keeps them on disk until they are delivered, "
            "`background` in memory, `inline` makes the caller wait and drops what fails. Without "
            "it, `durable` where there is a `storage_path`, else `background`."
        ),
    )
    outbox: Annotated[OutboxSettings, Allowed("a mapping")] = Field(
        default=OutboxSettings(), description="How much may wait to be delivered."
    )
    search_scope: Annotated[SearchScope, _one_of(SearchScope)] = Field(
        default=SearchScope.WORKSPACE,
        description=(
            "Whose messages a search looks through: `workspace` everybody's in the user's "
            "workspace, `user` only the user's own."
        ),
    )
    failure_policy: Annotated[
        FailurePolicy,
        Allowed("a mapping, as in {read: fail_open}, because DeerFlow itself fails on others"),
    ] = Field(default=FailurePolicy(), description="What happens when Honcho cannot be asked.")
    recall: Annotated[RecallSettings, Allowed("a mapping")] = Field(
        default=RecallSettings(), description="How the memory of a user is fetched and kept."
    )
    storage_path: Annotated[Text, BeforeValidator(_path)] = Field(
        default="",
        description="A folder for what has to outlive the process; DeerFlow sets it itself.",
    )
    telemetry: Flag = Field(
        default=False,
        description=(
            "Whether spans and metrics go to OpenTelemetry, for which the extra `[otel]` is needed."
        ),
    )

    @field_validator("api_key_env", mode="before")
    @classmethod
    def _check_variable(cls, name: object) -> object:
        if name is None or (isinstance(name, str) and re.fullmatch(_VARIABLE, name)):
            return name
        raise ConfigurationError(
            "api_key_env must be the name of an environment variable (what was given is not "
            "shown, it may be a key)"
        )

    @field_validator("api_key", mode="before")
    @classmethod
    def _resolve_key(cls, key: object, info: ValidationInfo) -> str | None:
        variable = info.data.get("api_key_env")
        if key is None:
            return _environment("api_key_env", variable) if variable else None
        if variable:
            raise ConfigurationError("api_key and api_key_env must not both be given")
        if isinstance(key, SecretStr):
            key = key.get_secret_value()
        if not isinstance(key, str):
            raise ConfigurationError(f"api_key must be a text, got a {type(key).__name__}")
        if not key.startswith("$"):
            return _checked_key("api_key", key)
        reference = _REFERENCE.fullmatch(key)
        if not reference:
            raise ConfigurationError(
                "api_key must have the name of an environment variable after its '$' (what was "
                "given is not shown)"
            )
        return _environment("api_key", reference[1] or reference[2])

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        self.identities()
        if self.delivery is Delivery.DURABLE and not self.storage_path:
            raise ConfigurationError("delivery must not be durable without a storage_path")
        plain = self.base_url.startswith("http:")
        if plain and self.api_key and not self.allow_insecure_http:
            raise ConfigurationError(
                "base_url must be https:// when there is an api_key, which would be sent "
                "unencrypted; for development on one machine, set allow_insecure_http to true"
            )
        return self

    @property
    def delivery_mode(self) -> Delivery:
        """How turn messages get to Honcho, the default worked out."""
        return self.delivery or (Delivery.DURABLE if self.storage_path else Delivery.BACKGROUND)

    @property
    def stale_if_error_seconds(self) -> float:
        """How old the last good answer may be that stands in when Honcho cannot be asked."""
        if self.recall.stale_if_error_seconds is not None:
            return self.recall.stale_if_error_seconds
        return _A_DAY if self.failure_policy.read is ReadPolicy.FAIL_OPEN else 0.0

    def identities(self) -> Identities:
        """The rules by which ids of the host become ids of Honcho.

        Raises:
            ConfigurationError: Honcho would refuse an id, or a peer would be two people.
        """
        return Identities(
            workspace_prefix=self.workspace_prefix,
            workspace_overrides=self.workspace_overrides,
            user_peer_overrides=self.user_peer_overrides,
            assistant_peer=self.assistant_peer,
            anonymous_user_ids=frozenset(self.anonymous_user_ids),
            digest_chars=self.id_digest_chars,
        )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object] | None) -> Self:
        """Read settings as a host holds them; None and null stand for the defaults.

        Texts that stand for numbers, true or false are read as such. A key that does not exist
        is logged and ignored.

        Raises:
            ConfigurationError: Names every setting that is wrong, what was given and what is
                allowed.
        """
        if mapping is None:
            mapping = {}
        if not isinstance(mapping, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"the settings must be a mapping, got {_shown(mapping)}")
        _warn(mapping)
        try:
            return cls.model_validate(mapping)
        except ValidationError as error:
            problems = list(_problems(error, secret=mapping.get("api_key")))
        # Raised out here, so that pydantic's error with its input is not even its context.
        raise ConfigurationError("; ".join(problems))


def _environment(setting: str, variable: str) -> str:
    key = os.environ.get(variable)
    if not key:
        raise ConfigurationError(
            f"{setting} names the environment variable {variable}, which is not set or empty"
        )
    return _checked_key(f"the environment variable {variable}, named by {setting},", key)


def _checked_key(source: str, key: str) -> str:
    if not _VISIBLE_ASCII.fullmatch(key):
        raise ConfigurationError(
            f"{source} must be a key of visible ASCII characters, without white space or line "
            "break (what was given is not shown)"
        )
    return key


def _problems(error: ValidationError, *, secret: object) -> Iterator[str]:
    """What is wrong, setting by setting, in our own words: pydantic's show what was given."""
    for problem in error.errors(include_url=False):
        cause = problem.get("ctx", {}).get("error")
        if isinstance(cause, ConfigurationError):
            yield _cut(_hide(str(cause), secret), _MOST_SHOWN_OF_A_MESSAGE)
            continue
        location = [str(part) for part in problem["loc"]]
        if location[2:] == ["[key]"]:
            path = f"a key of {location[0]}"
        else:
            path = _cut(_hide(".".join(location), secret), _MOST_SHOWN_OF_A_VALUE)
        shown = _cut(_hide(_shown(problem["input"]), secret), _MOST_SHOWN_OF_A_VALUE)
        yield f"{path} must be {_allowed(location)}, got {shown}"


def _allowed(location: Sequence[str]) -> str:
    field = Settings.model_fields[location[0]]
    for name in location[1:]:
        section = _section(field)
        if section is None:
            return _A_TEXT.text
        field = section.model_fields[name]
    return next(item.text for item in field.metadata if isinstance(item, Allowed))


def _shown(value: object) -> str:
    """A value in a message; nothing of what is in a container, which may be a secret."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    if value is None or isinstance(value, str | bool | float):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if abs(value) < _TOO_LARGE_TO_SHOW else "a very large number"
    return f"an object of type {type(value).__name__}"


def _hide(text: str, secret: object) -> str:
    """Without the key, should it have been pasted into another setting as well."""
    if isinstance(secret, str) and len(secret) >= _SHORTEST_KEY:
        text = text.replace(secret, "***").replace(repr(secret)[1:-1], "***")
    return text


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _warn(mapping: Mapping[str, object]) -> None:
    """Say what is ignored: a misspelt key would otherwise be a setting that does nothing."""
    known = sorted(_known(Settings))
    for path in _unknown(Settings, mapping):
        near = difflib.get_close_matches(path, known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        shown = _cut(_hide(path, mapping.get("api_key")), _MOST_SHOWN_OF_A_VALUE)
        _logger.warning(
            "The setting %r does not exist and is ignored%s",
            shown,
            hint,
            extra={"operation": "configure", "setting": shown},
        )
    if "failure_policy" in mapping and mapping["failure_policy"] is None:
        _logger.warning(
            "failure_policy is null: DeerFlow itself fails on that; leave it out, or write "
            "{read: fail_open}",
            extra={"operation": "configure", "setting": "failure_policy"},
        )


def _known(section: type[_Section]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield name
        if inner := _section(field):
            yield from (f"{name}.{path}" for path in _known(inner))


def _unknown(section: type[_Section], given: Mapping[str, object]) -> Iterator[str]:
    for name, value in given.items():
        field = section.model_fields.get(name)
        if field is None:
            yield str(name)
        elif (inner := _section(field)) and (mapping := _as_mapping(value)) is not None:
            yield from (f"{name}.{path}" for path in _unknown(inner, mapping))
