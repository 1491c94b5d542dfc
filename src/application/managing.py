"""The part of a memory that is looked through and changed by hand."""

from __future__ import annotations

from dataclasses import dataclass

from honcho_memory.application.clearing import Clearing
from honcho_memory.application.documents import Documents
from honcho_memory.application.facts import Facts
from honcho_memory.application.importing import Importing, Progress
from honcho_memory.application.profiles import Profiles
from honcho_memory.application.reading import ReadGate
from honcho_memory.domain.errors import HonchoMemoryError, NoUser
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.profile import Profile
from honcho_memory.domain.results import Changed, Cleared, Document, Fact, Imported


@dataclass(frozen=True, slots=True)
class Management:
    """The use cases behind it."""

    facts: Facts
    profiles: Profiles
    documents: Documents
    importing: Importing
    clearing: Clearing


class ManagedMemory:
    """Facts, profile, document, import, export, clearing; see `honcho_memory.ports.host`."""

    def __init__(self, identities: Identities, management: Management, gate: ReadGate) -> None:
        self._identities = identities
        self._management = management
        self._gate = gate

    def document(self, user_id: str | None, *, reload: bool = False) -> Document:
        """All that is known of a user; see `MemoryManagement.document`."""

        def read() -> Document:
            user = self._user(user_id)
            if user is None:
                return Document(is_asked=False)
            documents = self._management.documents
            return documents.read_again(user) if reload else documents.read(user)

        return self._gate.read(read, lambda error: Document(error=error))

    def export(self, user_id: str | None) -> Document:
        """All that is known of a user, or an error; see `MemoryManagement.export`."""
        return self._management.documents.export(self._somebody(user_id))

    def facts(self, user_id: str | None) -> tuple[Fact, ...]:
        """All facts about a user; see `MemoryManagement.facts`."""
        return self._management.facts.all(self._somebody(user_id))

    def add_fact(
        self,
        content: str,
        *,
        user_id: str | None,
        category: str | None = None,
        confidence: float | None = None,
    ) -> Changed:
        """Add a fact; see `MemoryManagement.add_fact`."""
        user = self._somebody(user_id)
        return self._management.facts.add(user, content, category, confidence)

    def update_fact(
        self,
        fact_id: str,
        *,
        user_id: str | None,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
    ) -> Changed:
        """Change a fact; see `MemoryManagement.update_fact`."""
        user = self._somebody(user_id)
        return self._management.facts.update(user, fact_id, content, category, confidence)

    def delete_fact(self, fact_id: str, *, user_id: str | None) -> Changed:
        """Delete a fact; see `MemoryManagement.delete_fact`."""
        return self._management.facts.delete(self._somebody(user_id), fact_id)

    def profile(self, user_id: str | None) -> Profile:
        """What a user wants to be known by; see `MemoryManagement.profile`."""
        return self._management.profiles.read(self._somebody(user_id))

    def set_profile(self, profile: Profile, *, user_id: str | None) -> Profile:
        """Overwrite it; see `MemoryManagement.set_profile`."""
        return self._management.profiles.overwrite(self._somebody(user_id), profile)

    def import_document(
        self, document: object, *, user_id: str | None, progress: Progress | None = None
    ) -> Imported:
        """Take over a memory document; see `MemoryManagement.import_document`."""
        return self._management.importing.run(self._somebody(user_id), document, progress)

    def clear(self, user_id: str | None) -> Cleared:
        """Clear a user's memory; see `MemoryManagement.clear`."""
        return self._management.clearing.clear(self._somebody(user_id))

    def _user(self, user_id: object) -> User | None:
        return self._identities.user(None if user_id is None else text("user id", user_id))

    def _somebody(self, user_id: object) -> User:
        user = self._user(user_id)
        if user is None:
            raise NoUser("there is no user whose memory could be managed")
        return user


def text(name: str, value: object) -> str:
    """A value that has to be a string.

    Raises:
        HonchoMemoryError: It is none.
    """
    if not isinstance(value, str):
        raise HonchoMemoryError(f"a {name} is a string, not {type(value).__name__}")
    return value
