"""What a host gives, and what it gets: the memory that it drives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from honcho_memory.domain.profile import Profile
from honcho_memory.domain.results import Changed, Cleared, Document, Fact, Found, Imported, Recall


class KeepHidden(Protocol):
    """A host's say in which of its hidden messages the user said after all."""

    def __call__(self, additional_kwargs: Mapping[str, object], /) -> bool:
        """Whether to keep a hidden message with these `additional_kwargs`."""
        ...


class MemoryManagement(Protocol):
    """A memory as something that is looked through and changed.

    But for `document`, which is a read as the others are, every method raises when it cannot
    do what it says: `NoUser` where there is no user, `HonchoRequestError` where Honcho could
    not be asked.
    """

    def document(self, user_id: str | None, *, reload: bool = False) -> Document:
        """All that is known of a user, in bounded time; empty for nobody.

        Args:
            user_id: Who.
            reload: Without what is kept of earlier answers.

        Raises:
            HonchoMemoryError: Honcho could not be asked, and the read policy is `fail_closed`.
        """
        ...

    def export(self, user_id: str | None) -> Document:
        """All that is known of a user, read anew; never an empty one for want of an answer."""
        ...

    def facts(self, user_id: str | None) -> tuple[Fact, ...]:
        """All facts about a user, newest first."""
        ...

    def add_fact(
        self,
        content: str,
        *,
        user_id: str | None,
        category: str | None = None,
        confidence: float | None = None,
    ) -> Changed:
        """Add a fact.

        Args:
            content: 1 to 65,535 characters.
            user_id: Whom it is about.
            category: None for `context`.
            confidence: 0 to 1; None for 0.5.

        Raises:
            InvalidFact: It cannot be a fact; `DuplicateFact` when there is one that says the
                same, upper and lower case aside.
        """
        ...

    def update_fact(
        self,
        fact_id: str,
        *,
        user_id: str | None,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
    ) -> Changed:
        """Change a fact, which keeps its id and what is None here.

        Raises:
            UnknownFact: The user has no such fact.
            InvalidFact: See `add_fact`.
        """
        ...

    def delete_fact(self, fact_id: str, *, user_id: str | None) -> Changed:
        """Delete a fact; what the user said, from which it was drawn, stays.

        Raises:
            UnknownFact: The user has no such fact.
        """
        ...

    def profile(self, user_id: str | None) -> Profile:
        """What a user wants to be known by, kept as the peer card."""
        ...

    def set_profile(self, profile: Profile, *, user_id: str | None) -> Profile:
        """Overwrite what a user wants to be known by; Honcho may add lines to it later.

        Returns:
            The profile as it is read from now on.

        Raises:
            InvalidProfile: It cannot be kept; nothing was changed.
        """
        ...

    def import_document(
        self,
        document: object,
        *,
        user_id: str | None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Imported:
        """Take over a memory document of DeerFlow's, or one that was exported.

        Facts that are there already are left alone, so that importing twice changes nothing.

        Args:
            document: A mapping in the shape of DeerFlow's memory document.
            user_id: Whose memory it becomes.
            progress: Is told how many facts are done, of how many.

        Raises:
            InvalidFact: It is no such document.
        """
        ...

    def clear(self, user_id: str | None) -> Cleared:
        """Delete all that is known of a user; it does not come back with an old thread.

        What is said from now on is remembered. Safe to call again, above all after an error.

        Raises:
            OutboxUnavailable: What waits cannot be forgotten; nothing was deleted.
        """
        ...


class Memory(MemoryManagement, Protocol):
    """The long-term memory of a host's users. Safe to call from many threads at once.

    Nothing is written for, and nothing is known of, a user whose id is None, empty or anonymous.
    """

    def remember(
        self,
        thread_id: str,
        messages: Sequence[object],
        *,
        user_id: str | None,
        agent_name: str | None = None,
        trace_id: str | None = None,
    ) -> int:
        """Take over what is new in a thread; never raises and makes no request of its own.

        Args:
            thread_id: The host's id of the conversation.
            messages: The whole transcript or its new part, oldest first: LangChain messages,
                mappings with `role` (or `type`), `content` and `id`, or `Message` objects.
            user_id: Whose words they are.
            agent_name: Kept with the messages.
            trace_id: Kept with the messages.

        Returns:
            How many messages were new. What was refused, with the outbox full for example, is
            logged, counted, and taken when the thread is handed over again.
        """
        ...

    def remember_nowait(
        self,
        thread_id: str,
        messages: Sequence[object],
        *,
        user_id: str | None,
        agent_name: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Like `remember`, from a thread of the library's own: for callers on an event loop."""
        ...

    def recall(self, user_id: str | None, *, query: str | None = None) -> Recall:
        """What is known of a user, in bounded time.

        Args:
            user_id: Who.
            query: What the memory is wanted for, such as the user's message.

        Raises:
            HonchoMemoryError: Honcho could not be asked, and the read policy is `fail_closed`.
        """
        ...

    def search(
        self,
        query: str,
        *,
        user_id: str | None,
        top_k: int = 5,
        category: str | None = None,
    ) -> Found:
        """Facts and messages near a text, in bounded time.

        Args:
            query: Nothing is found for an empty one.
            user_id: Whose memory.
            top_k: How many at most; more than 100 counts as 100.
            category: Only of this category; messages are of category `memory`.

        Raises:
            HonchoMemoryError: Honcho could not be asked, and the read policy is `fail_closed`.
        """
        ...

    def warm(self) -> None:
        """Get ready at the start of a host, in a few seconds at most; never raises.

        The log says whether Honcho can be used, and if not, what to do. What waits from an
        earlier start is delivered from now on.
        """
        ...

    def is_usable(self) -> bool:
        """Whether Honcho can be used, as far as is known; never raises.

        Where it could not be used lately it is asked again, in a few seconds at most and not more
        often than the pauses between two tries allow.
        """
        ...

    def flush(self, timeout: float) -> bool:
        """Wait until nothing waits to be delivered, for `timeout` seconds at most.

        Returns:
            Whether nothing waits. A message that Honcho refused was set aside and does not.
        """
        ...

    def close(self) -> None:
        """Stop in bounded time; safe to call twice, and calls after it are safe."""
        ...
