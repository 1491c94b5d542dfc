"""Reading lists that come in pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Page(Protocol[T_co]):
    """A part of a list."""

    @property
    def items(self) -> Sequence[T_co]:
        """What is on it."""
        ...

    @property
    def has_more(self) -> bool:
        """Whether another follows."""
        ...


def all_items(read: Callable[[int], Page[T]]) -> Iterator[T]:
    """Everything on all pages, by number from 1; an empty one is the last, whatever it says."""
    number = 1
    while True:
        page = read(number)
        yield from page.items
        if not (page.has_more and page.items):
            return
        number += 1
