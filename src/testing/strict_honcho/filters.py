"""Honcho's filter language, applied to one thing at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from honcho_memory.testing.strict_honcho.json_shapes import is_list, is_object

Row = Mapping[str, Any]
"""A thing by the names that filters know its properties by."""

_MISSING = object()
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "contains": lambda value, part: part in value,
    "gt": lambda value, bound: value > bound,
    "gte": lambda value, bound: value >= bound,
    "icontains": lambda value, part: part.lower() in value.lower(),
    "lt": lambda value, bound: value < bound,
    "lte": lambda value, bound: value <= bound,
}
_OPERATORS = frozenset({"in", "ne", *_COMPARISONS})


class FilterError(Exception):
    """A filter that the server answers with 422."""


def check(filters: Any, columns: Collection[str]) -> None:
    """Refuse what no row could be compared with.

    Raises:
        FilterError: An unknown key or a wrong shape.
    """
    for key, condition in _object(filters, "filters").items():
        if key in {"AND", "OR", "NOT"}:
            for part in _list(condition, key):
                check(part, columns)
        elif key not in columns:
            raise FilterError(f"Unknown filter key '{key}'")
        elif key == "metadata":
            for part in _object(condition, key).values():
                _check_operands(part)
        elif is_object(condition):
            unknown = set(condition) - _OPERATORS
            if unknown:
                raise FilterError(f"Unknown operator(s) {sorted(unknown)}")
            _check_operands(condition)


def _check_operands(condition: Any) -> None:
    if is_object(condition) and "in" in condition:
        _list(condition["in"], "in")


def _object(value: Any, name: str) -> dict[str, Any]:
    if not is_object(value):
        raise FilterError(f"{name} takes an object")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not is_list(value):
        raise FilterError(f"{name} takes a list")
    return value


def matches(filters: Mapping[str, Any], row: Row) -> bool:
    """Whether a row meets every condition of a filter that has been checked."""
    return all(_matches_key(key, condition, row) for key, condition in filters.items())


def _matches_key(key: str, condition: Any, row: Row) -> bool:
    match key:
        case "AND":
            return all(matches(part, row) for part in condition)
        case "OR":
            return any(matches(part, row) for part in condition)
        case "NOT":
            return not any(matches(part, row) for part in condition)
        case "metadata":
            return _matches_metadata(row["metadata"], condition)
        case _:
            return _matches_value(row[key], condition)


def _matches_metadata(metadata: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    return all(
        _matches_value(metadata.get(name, _MISSING), condition)
        for name, condition in conditions.items()
    )


def _matches_value(value: Any, condition: Any) -> bool:
    if condition == "*":
        return True
    if is_object(condition):
        if _OPERATORS.isdisjoint(condition):
            return is_object(value) and _matches_metadata(value, condition)
        return all(_compare(value, name, operand) for name, operand in condition.items())
    return _same(value, condition)


def _compare(value: Any, operator: str, operand: Any) -> bool:
    """Apply one operator; a missing value meets none, `ne` included, but for a wildcard."""
    if operator == "in":
        return "*" in operand or any(_same(value, choice) for choice in operand)
    if value is _MISSING or value is None:
        return False
    if operator == "ne":
        return not _same(value, operand)
    if isinstance(value, datetime):
        operand = _time(operand)
    return type(value) is type(operand) and _COMPARISONS[operator](value, operand)


def _same(value: Any, other: Any) -> bool:
    """Strictly typed: "1" is not 1, and True is not 1 either."""
    if isinstance(value, datetime):
        other = _time(other)
    return type(value) is type(other) and bool(value == other)


def _time(value: object) -> datetime:
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError as exc:
        raise FilterError(f"Invalid datetime value: {value}") from exc
    return time if time.tzinfo else time.replace(tzinfo=UTC)
