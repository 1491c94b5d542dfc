"""Telling the shapes of parsed JSON apart, in a way that both type checkers follow."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether it is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether it is a JSON array."""
    return isinstance(value, list)
