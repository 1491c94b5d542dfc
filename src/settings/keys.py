"""Where the API key comes from. No message shows what was given: it may be a key."""

from __future__ import annotations

import os
import re

from pydantic import SecretStr

from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.settings.values import VISIBLE_ASCII

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(rf"\$(?:({_VARIABLE})|\{{({_VARIABLE})\}})")


def variable_name(name: object) -> str | None:
    """The name of the environment variable that `api_key_env` gives.

    Raises:
        ConfigurationError: It cannot be one.
    """
    if name is None or (isinstance(name, str) and re.fullmatch(_VARIABLE, name)):
        return name
    raise ConfigurationError(
        "api_key_env must be the name of an environment variable (what was given is not "
        "shown, it may be a key)"
    )


def resolved_key(key: object, variable: str | None) -> str | None:
    """The key that `api_key`, or the environment variable of `api_key_env`, stands for.

    Raises:
        ConfigurationError: Both are given, the variable has none, or it cannot be a key.
    """
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


def _environment(setting: str, variable: str) -> str:
    key = os.environ.get(variable)
    if not key:
        raise ConfigurationError(
            f"{setting} names the environment variable {variable}, which is not set or empty"
        )
    return _checked_key(f"the environment variable {variable}, named by {setting},", key)


def _checked_key(source: str, key: str) -> str:
    if not VISIBLE_ASCII.fullmatch(key):
        raise ConfigurationError(
            f"{source} must be a key of visible ASCII characters, without white space or line "
            "break (what was given is not shown)"
        )
    return key
