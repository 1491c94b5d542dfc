"""User and thread ids of a host -> workspace, peer and session ids of Honcho.

`sanitize`, `stable_id` and what is derived from them equal, with 8 digest characters, what
DeerFlow's built-in Honcho backend derives, so that a DeerFlow that switches keeps its memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from honcho_memory.domain.errors import ConfigurationError

MAX_ID_LENGTH = 100
"""Of an id on any Honcho v3; newer servers take more."""
SESSION_PREFIX = "df-"

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_OUTSIDE_GRAMMAR = re.compile(r"[^a-zA-Z0-9_-]+")
_SANITIZED_LENGTH = 64
_READABLE_LENGTH = 48
_LONGEST_PREFIX = {8: MAX_ID_LENGTH - _READABLE_LENGTH - 1 - 8, 32: MAX_ID_LENGTH - 32}
"""By digest length: with 8, the readable part must not shrink, or it would not be compatible."""


def sanitize(raw: str) -> str:
    """Fold whatever Honcho's id grammar does not have into single dashes; may be empty."""
    return _OUTSIDE_GRAMMAR.sub("-", raw).strip("-")[:_SANITIZED_LENGTH]


def digest(raw: str, length: int) -> str:
    """The first hex digits of the SHA-256 of any string, lone surrogates included."""
    return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def workspace_hash(workspace: str) -> str:
    """What stands for a workspace where its name, which tells who the user is, must not be."""
    return digest(workspace, 16)


def stable_id(raw: str, *, digest_chars: int = 8, max_length: int = MAX_ID_LENGTH) -> str:
    """A valid, readable id for any string: equal ids imply equal digests of the raw ids.

    Args:
        raw: Any string at all.
        digest_chars: How much of the digest it carries.
        max_length: At least `digest_chars`; the readable part shrinks to make it hold.
    """
    room = max_length - digest_chars - 1
    readable = sanitize(raw)[: max(0, min(_READABLE_LENGTH, room))].rstrip("-")
    tail = digest(raw, digest_chars)
    return f"{readable}-{tail}" if readable else tail


@dataclass(frozen=True, slots=True)
class User:
    """Who a memory is about: a peer in a workspace."""

    workspace: str
    peer: str


@dataclass(frozen=True, slots=True)
class Identities:
    """The rules by which one deployment derives Honcho's ids.

    Attributes:
        workspace_prefix: In front of a derived workspace id.
        workspace_overrides: Workspaces of particular user ids, which share what they name.
        user_peer_overrides: Peers of particular user ids.
        assistant_peer: The peer that says the assistant's answers.
        anonymous_user_ids: User ids that stand for nobody.
        digest_chars: 8, as DeerFlow's built-in backend has it, or 32.

    Raises:
        ConfigurationError: An id that Honcho would refuse, or a peer that is two people.
    """

    workspace_prefix: str = "deerflow-u-"
    workspace_overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    user_peer_overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    assistant_peer: str = "deerflow"
    anonymous_user_ids: frozenset[str] = frozenset()
    digest_chars: int = 8

    def __post_init__(self) -> None:
        if self.digest_chars not in _LONGEST_PREFIX:
            raise ConfigurationError(f"id_digest_chars must be 8 or 32, got {self.digest_chars!r}")
        self._check_prefix()
        _check_id("assistant_peer", self.assistant_peer)
        self._check_nobody_is_derived_to_be_the_assistant()
        for user_id, workspace in self.workspace_overrides.items():
            _check_id(f"workspace_overrides[{user_id!r}]", workspace)
        for user_id, peer in self.user_peer_overrides.items():
            _check_id(f"user_peer_overrides[{user_id!r}]", peer)
            if peer == self.assistant_peer:
                raise ConfigurationError(
                    f"user_peer_overrides[{user_id!r}] is {peer!r}, which is the assistant_peer: "
                    "what the user says would count as said by the assistant"
                )

    def _check_prefix(self) -> None:
        prefix, longest = self.workspace_prefix, _LONGEST_PREFIX[self.digest_chars]
        if prefix and not _ID.fullmatch(prefix):
            raise ConfigurationError(
                f"workspace_prefix must consist of letters, digits, '_' and '-', got {prefix!r}"
            )
        if len(prefix) > longest:
            raise ConfigurationError(
                f"workspace_prefix must have at most {longest} characters, got {len(prefix)}"
            )

    def _check_nobody_is_derived_to_be_the_assistant(self) -> None:
        tail = self.assistant_peer.rpartition("-")[2]
        if re.fullmatch(rf"[0-9a-f]{{{self.digest_chars}}}", tail):
            raise ConfigurationError(
                f"assistant_peer must not end like a peer that is derived from a user id, in "
                f"{self.digest_chars} hex digits, got {self.assistant_peer!r}"
            )

    def user(self, user_id: str | None) -> User | None:
        """Where the memory of a user is; None for nobody, whose memory does not exist."""
        if not user_id or user_id in self.anonymous_user_ids:
            return None
        workspace = self.workspace_overrides.get(user_id) or self.workspace_prefix + stable_id(
            user_id,
            digest_chars=self.digest_chars,
            max_length=MAX_ID_LENGTH - len(self.workspace_prefix),
        )
        peer = self.user_peer_overrides.get(user_id) or stable_id(
            user_id, digest_chars=self.digest_chars
        )
        return User(workspace, peer)

    def session(self, thread_id: str) -> str:
        """The session of a thread."""
        return SESSION_PREFIX + stable_id(
            thread_id,
            digest_chars=self.digest_chars,
            max_length=MAX_ID_LENGTH - len(SESSION_PREFIX),
        )

    def thread(self, session: str) -> str | None:
        """The thread that a session was derived from, where that is certain.

        It is when the readable part of the id is the whole thread id, as it is for UUIDs.
        """
        readable, _, tail = session.removeprefix(SESSION_PREFIX).rpartition("-")
        if session == self.session(readable) and tail == digest(readable, self.digest_chars):
            return readable
        return None


def _check_id(name: str, value: str) -> None:
    if not _ID.fullmatch(value) or len(value) > MAX_ID_LENGTH:
        raise ConfigurationError(
            f"{name} must be 1 to {MAX_ID_LENGTH} letters, digits, '_' and '-', got {value!r}"
        )
