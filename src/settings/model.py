"""Every setting: its key, its default, what it may be.

A host gives a mapping, DeerFlow its `memory.backend_config`. Whatever is wrong with it is found
here, before anything is started, and no message shows a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.policy import ReadPolicy, SearchScope
from honcho_memory.domain.text import MAX_MESSAGE_CHARS
from honcho_memory.domain.transcript import Overflow
from honcho_memory.settings.keys import resolved_key, variable_name
from honcho_memory.settings.problems import problems_in, shown, warn_about_ignored
from honcho_memory.settings.section import Section
from honcho_memory.settings.values import (
    AN_AGE,
    Age,
    Allowed,
    Count,
    Flag,
    Folder,
    Text,
    TimeLimit,
    Url,
    UserId,
    Whole,
    one_of,
)

_A_DAY = 86_400


class Delivery(StrEnum):
    """How turn messages get to Honcho."""

    DURABLE = "durable"
    """Kept on disk until they are delivered."""
    BACKGROUND = "background"
    """Kept in memory until they are delivered."""
    INLINE = "inline"
    """As `background`, but the caller waits; what is not delivered in time is dropped."""


class FailurePolicy(Section):
    """What happens when Honcho cannot be asked."""

    read: Annotated[
        ReadPolicy, one_of(ReadPolicy, ", in lower case, because DeerFlow reads it too")
    ] = Field(
        default=ReadPolicy.FAIL_OPEN,
        description=(
            "When memory cannot be read, `fail_open` logs it and lets the agent go on without, "
            "`fail_closed` raises and so stops the run."
        ),
    )


class RecallSettings(Section):
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
    stale_if_error_seconds: Annotated[Age | None, AN_AGE] = Field(
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


class OutboxSettings(Section):
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


class Settings(Section):
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
    overflow: Annotated[Overflow, one_of(Overflow)] = Field(
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
    delivery: Annotated[Delivery | None, one_of(Delivery)] = Field(
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
    search_scope: Annotated[SearchScope, one_of(SearchScope)] = Field(
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
    storage_path: Folder = Field(
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
    def _check_variable(cls, name: object) -> str | None:
        return variable_name(name)

    @field_validator("api_key", mode="before")
    @classmethod
    def _resolve_key(cls, key: object, info: ValidationInfo) -> str | None:
        return resolved_key(key, info.data.get("api_key_env"))

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
            raise ConfigurationError(f"the settings must be a mapping, got {shown(mapping)}")
        warn_about_ignored(cls, mapping)
        try:
            return cls.model_validate(mapping)
        except ValidationError as error:
            problems = list(problems_in(cls, error, secret=mapping.get("api_key")))
        # Raised out here, so that pydantic's error with its input is not even its context.
        raise ConfigurationError("; ".join(problems))
