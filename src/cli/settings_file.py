"""The settings that a command works with: a file's, and options beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer
import yaml

from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.settings import Settings

Config = Annotated[
    Path | None,
    typer.Option(
        help="The settings as YAML or JSON: DeerFlow's config.yaml, or a file with the "
        "settings alone."
    ),
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="As in the settings.")]
ApiKeyEnv = Annotated[str | None, typer.Option(metavar="NAME", help="As in the settings.")]


def read_settings(config: Path | None, options: Mapping[str, str | None]) -> Settings:
    """The settings of a file, or the defaults, with the options that were given over them.

    Raises:
        ConfigurationError: The file cannot be read, or a setting is wrong.
    """
    mapping = {**(_read(config) if config else {})}
    mapping |= {name: value for name, value in options.items() if value is not None}
    return Settings.from_mapping(mapping)


def without_outbox(settings: Settings) -> Settings:
    """The same, but for a command that must not deliver what waits on disk."""
    return settings.model_copy(update={"storage_path": "", "delivery": None})


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        # Not the error's own text: a parser quotes lines, and one may hold a key.
        raise ConfigurationError(f"{path} cannot be read: {type(error).__name__}") from None
    if not isinstance(content, Mapping):
        raise ConfigurationError(f"{path} must hold a mapping")
    settings = cast("Mapping[str, Any]", content)
    memory = settings.get("memory")
    if not isinstance(memory, Mapping):
        return settings
    of_backend = cast("Mapping[str, Any]", memory).get("backend_config")
    return cast("Mapping[str, Any]", of_backend) if isinstance(of_backend, Mapping) else {}
