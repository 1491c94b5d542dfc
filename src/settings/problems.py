"""What is wrong with the settings, in our own words: pydantic's show what was given."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.settings.section import Section, as_mapping, section_of
from honcho_memory.settings.values import A_TEXT, Allowed

_logger = logging.getLogger(__name__)

_MOST_SHOWN_OF_A_VALUE = 60
_MOST_SHOWN_OF_A_MESSAGE = 400
_TOO_LARGE_TO_SHOW = 10**20
_SHORTEST_KEY = 8
"""A shorter one is nobody's secret, and hiding it would tear holes into our own words."""


def problems_in(
    settings: type[Section], error: ValidationError, *, secret: object
) -> Iterator[str]:
    """What is wrong, setting by setting, and nowhere the secret."""
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
        value = _cut(_hide(shown(problem["input"]), secret), _MOST_SHOWN_OF_A_VALUE)
        yield f"{path} must be {_allowed(settings, location)}, got {value}"


def _allowed(settings: type[Section], location: Sequence[str]) -> str:
    field = settings.model_fields[location[0]]
    for name in location[1:]:
        section = section_of(field)
        if section is None:
            return A_TEXT.text
        field = section.model_fields[name]
    return next(item.text for item in field.metadata if isinstance(item, Allowed))


def shown(value: object) -> str:
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


def warn_about_ignored(settings: type[Section], given: Mapping[str, object]) -> None:
    """Say what is ignored: a misspelt key would otherwise be a setting that does nothing."""
    known = sorted(_known(settings))
    for path in _unknown(settings, given):
        near = difflib.get_close_matches(path, known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        name = _cut(_hide(path, given.get("api_key")), _MOST_SHOWN_OF_A_VALUE)
        _logger.warning(
            "The setting %r does not exist and is ignored%s",
            name,
            hint,
            extra={"operation": "configure", "setting": name},
        )
    if "failure_policy" in given and given["failure_policy"] is None:
        _logger.warning(
            "failure_policy is null: DeerFlow itself fails on that; leave it out, or write "
            "{read: fail_open}",
            extra={"operation": "configure", "setting": "failure_policy"},
        )


def _known(section: type[Section]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        yield name
        if inner := section_of(field):
            yield from (f"{name}.{path}" for path in _known(inner))


def _unknown(section: type[Section], given: Mapping[str, object]) -> Iterator[str]:
    for name, value in given.items():
        field = section.model_fields.get(name)
        if field is None:
            yield str(name)
        elif (inner := section_of(field)) and (mapping := as_mapping(value)) is not None:
            yield from (f"{name}.{path}" for path in _unknown(inner, mapping))
