"""Memory as a message in the thread: where it goes, and what earlier ones become.

A provider keeps what it has computed for the beginning of a prompt, as long as that beginning
stays byte for byte the same. So memory is a message at the place where it was new, never a part
of the system prompt, and a change of memory is another message further down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage

from honcho_memory.adapters.langchain.turns import moved_id

DEFAULT_MARKER = "honcho_memory"
NOTHING_KNOWN = "Nothing is known of the user any more; what was said here before is outdated."
SUPERSEDED = "This was outdated."
_OF = "_of"
"""After the marker: the key for whose memory it is."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Reads and places the snapshots of a thread.

    Attributes:
        marker: The key in `additional_kwargs` that makes a human message a snapshot; its value
            is the revision of the text, empty when the text was taken.
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
            if not isinstance(message, HumanMessage) or self.is_one(message):
                continue
            if message.additional_kwargs.get("hide_from_ui") or _is_summary(message):
                hidden = place
            else:
                return place
        return hidden

    def updated(
        self, messages: Sequence[AnyMessage], place: int, text: str, owner: str
    ) -> list[BaseMessage]:
        """What to change in a thread so that it has a text before a place; may be nothing.

        A message that is put back under its own id stays where it is. So the snapshot takes the
        id of the question, which goes behind it under another: that holds its place in the
        thread of whatever graph this agent is a part of.

        Args:
            messages: The thread.
            place: Where the user's message is, from `question`.
            text: What is known of the user; it cannot close the block that it is put into.
            owner: Whose memory it is.
        """
        own = [each for each in messages if self._is_of(each, owner)]
        latest = own[-1].additional_kwargs[self.marker] if own else _revision("")
        if latest == _revision(text):
            return []
        outdated = [] if self.keep is None else own[: max(0, len(own) + 1 - self.keep)]
        question, *behind = messages[place:]
        moved: list[BaseMessage] = [self._snapshot(text, owner, question.id), _moved(question)]
        for message in behind:
            moved += [RemoveMessage(id=str(message.id)), _moved(message)]
        return [*map(self._emptied, outdated), *moved]

    def without_others(self, messages: Sequence[AnyMessage], owner: str) -> list[BaseMessage]:
        """What to change in a thread so that nothing is known in it of other users."""
        return [
            self._emptied(each)
            for each in messages
            if self.is_one(each)
            and each.additional_kwargs[self.marker]
            and not self._is_of(each, owner)
        ]

    def left_out(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """The thread without its snapshots."""
        return [message for message in messages if not self.is_one(message)]

    def _is_of(self, message: AnyMessage, owner: str) -> bool:
        """Whether a message is a snapshot of this user's memory that has its text."""
        extra = message.additional_kwargs
        return (
            self.is_one(message)
            and bool(extra[self.marker])
            and extra.get(self.marker + _OF) == owner
        )

    def _snapshot(self, text: str, owner: str, message_id: str | None) -> HumanMessage:
        return HumanMessage(
            id=message_id,
            content=_block(text or NOTHING_KNOWN),
            additional_kwargs={
                self.marker: _revision(text),
                self.marker + _OF: owner,
                "hide_from_ui": True,
            },
        )

    def _emptied(self, message: AnyMessage) -> AnyMessage:
        extra = {**message.additional_kwargs, self.marker: ""}
        return message.model_copy(
            update={"content": _block(SUPERSEDED), "additional_kwargs": extra}
        )


def _moved(message: AnyMessage) -> AnyMessage:
    return message.model_copy(update={"id": moved_id(str(message.id))})


def _is_summary(message: AnyMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"


def _revision(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _block(text: str) -> str:
    return f"<memory>\n{text}\n</memory>"
