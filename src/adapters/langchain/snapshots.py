"""Memory as a message in the thread: where it goes, and what earlier ones become.

A provider keeps what it has computed for the beginning of a prompt, as long as that beginning
stays byte for byte the same. So memory is a message at the place where it was new, never a part
of the system prompt, and a change of memory is another message further down.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

DEFAULT_MARKER = "honcho_memory"
NOTHING_KNOWN = "Nothing is known of the user any more; what was said here before is outdated."
SUPERSEDED = "This was outdated; newer background follows below."


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Reads and places the snapshots of a thread.

    Attributes:
        marker: The key in `additional_kwargs` that makes a human message a snapshot; its value
            is the revision of the text.
        keep: How many of the newest keep their text when memory changes; None for all. Taking
            the text of an older one changes the prompt from there on, once.
    """

    marker: str = DEFAULT_MARKER
    keep: int | None = None

    def is_one(self, message: AnyMessage) -> bool:
        """Whether a message is a snapshot."""
        return isinstance(message, HumanMessage) and self.marker in message.additional_kwargs

    def question(self, messages: Sequence[AnyMessage]) -> int | None:
        """The place of the user's message that is to be answered; None when there is none.

        An answered one has been in a prompt already: nothing may be put before it.
        """
        hidden: int | None = None
        for place in reversed(range(len(messages))):
            message = messages[place]
            if isinstance(message, AIMessage):
                break
            if isinstance(message, HumanMessage) and not self.is_one(message):
                if not message.additional_kwargs.get("hide_from_ui"):
                    return place
                hidden = place if hidden is None else hidden
        return hidden

    def updated(
        self, messages: Sequence[AnyMessage], place: int, text: str
    ) -> list[AnyMessage] | None:
        """The thread with a snapshot of a text before a place; None when nothing has changed.

        Args:
            messages: The thread.
            place: Where the user's message is, from `question`.
            text: What is known of the user; it cannot close the block that it is put into.
        """
        earlier = [at for at, message in enumerate(messages) if self.is_one(message)]
        latest = messages[earlier[-1]].additional_kwargs[self.marker] if earlier else _revision("")
        if latest == _revision(text):
            return None
        thread = list(messages)
        if self.keep is not None:
            for at in earlier[: max(0, len(earlier) + 1 - self.keep)]:
                thread[at] = messages[at].model_copy(update={"content": _block(SUPERSEDED)})
        thread.insert(place, self._snapshot(text))
        return thread

    def left_out(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """The thread without its snapshots."""
        return [message for message in messages if not self.is_one(message)]

    def _snapshot(self, text: str) -> HumanMessage:
        return HumanMessage(
            id=f"{self.marker}-{uuid.uuid4()}",
            content=_block(text or NOTHING_KNOWN),
            additional_kwargs={self.marker: _revision(text), "hide_from_ui": True},
        )


def _revision(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _block(text: str) -> str:
    return f"<memory>\n{text}\n</memory>"
