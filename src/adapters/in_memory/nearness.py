"""Which texts are near another: those that share words with it.

Honcho compares meanings. Words are what tests and demos can foresee.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

_WORD = re.compile(r"\w+")


class HasContent(Protocol):
    """Whatever has a text."""

    @property
    def content(self) -> str:
        """The text."""
        ...


_T = TypeVar("_T", bound=HasContent)


def nearest(items: Sequence[_T], query: str, most: int) -> list[_T]:
    """At most so many, the nearest first and of those as near the newest, near or not.

    Args:
        items: Oldest first.
        query: What they are compared with; everything is as near to an empty one.
        most: How many.
    """
    return [items[place] for place in _nearest_places(items, query, most)]


def nearest_in_order(items: Sequence[_T], query: str, most: int) -> list[_T]:
    """The same as `nearest` gives, oldest first."""
    return [items[place] for place in sorted(_nearest_places(items, query, most))]


def _nearest_places(items: Sequence[_T], query: str, most: int) -> list[int]:
    words = _words(query)
    shared = [_weight(words & _words(item.content)) if words else 0 for item in items]
    return sorted(range(len(items)), key=lambda place: (-shared[place], -place))[:most]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _weight(words: frozenset[str]) -> int:
    """How much it says to share these: longer words say more."""
    return sum(map(len, words))
