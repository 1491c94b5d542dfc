"""Conversations for the benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Message = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its answer, as a host has them when the turn ends.

    Attributes:
        thread: Of which conversation.
        new: The messages of this turn.
        history: All messages of the thread, these included.
    """

    thread: str
    new: Sequence[Message]
    history: Sequence[Message]


def conversation(thread: str, turns: int) -> Iterator[Turn]:
    """A thread from its first turn to its last."""
    history: tuple[Message, ...] = ()
    for number in range(turns):
        new = _messages(thread, number)
        history += new
        yield Turn(thread, new, history)


def _messages(thread: str, number: int) -> tuple[Message, ...]:
    words = f"turn {number} of {thread}" + ", in which somebody speaks of food and wine" * 5
    return (
        {"role": "user", "id": f"{thread}-q{number}", "content": f"question, {words}"},
        {"role": "assistant", "id": f"{thread}-a{number}", "content": f"answer, {words}"},
    )
