"""A thread's messages, as the graph's state holds them."""

from __future__ import annotations

import uuid
from dataclasses import replace

from deerflow_host.messages import Message


class Thread:
    """A conversation; every message in it has an id that stays the same.

    Attributes:
        id: The thread's.
        messages: The state, oldest first.
        has_memory: Whether the memory was put into it, and so is settled for its life.
    """

    def __init__(self, thread_id: str | None = None) -> None:
        self.id = thread_id or str(uuid.uuid4())
        self.messages: list[Message] = []
        self.has_memory = False

    def apply(self, *messages: Message) -> list[Message]:
        """Put messages into the state: in the place of the one with their id, else at the end."""
        applied = [
            message if message.id else replace(message, id=str(uuid.uuid4()))
            for message in messages
        ]
        for message in applied:
            for place, known in enumerate(self.messages):
                if known.id == message.id:
                    self.messages[place] = message
                    break
            else:
                self.messages.append(message)
        return applied

    def last_question(self) -> int:
        """Where the last thing is that the user said."""
        return max(
            place
            for place, message in enumerate(self.messages)
            if message.type == "human" and not message.additional_kwargs.get("hide_from_ui")
        )
