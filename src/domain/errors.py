"""Everything that this library raises on purpose."""

from __future__ import annotations


class HonchoMemoryError(Exception):
    """The root of every error of this library."""


class ConfigurationError(HonchoMemoryError, ValueError):
    """A setting is missing, of the wrong type, or not allowed; the message names it."""


class HonchoRequestError(HonchoMemoryError):
    """A request to Honcho did not succeed.

    Attributes:
        status: The HTTP status of the answer, None when there was no answer.
        said: What the server said; it may name users or quote them.
        summary: Its text without that.
    """

    def __init__(self, message: str, *, status: int | None = None, said: str = "") -> None:
        super().__init__(f"{message}: {said}" if said else message)
        self.status = status
        self.said = said
        self.summary = message


class HonchoUnavailable(HonchoRequestError):
    """Honcho could not be reached or could not serve; the same request may be tried again.

    Transport failures, time-outs, 429 and every 5xx.

    Attributes:
        retry_after: Seconds after which the server asks to be tried again, if it said so.
        outcome_unknown: Whether the request may have been carried out, or may still be:
            its answer was lost, or a gateway answered in the server's place.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        outcome_unknown: bool = False,
    ) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after
        self.outcome_unknown = outcome_unknown


class HonchoRejected(HonchoRequestError):
    """Honcho understood the request and refused it: 422 and every other 4xx.

    Attributes:
        refused: Positions in the sent batch of the messages or conclusions that a 422 names,
            ascending, with the server's reason for each; empty when it names none.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        said: str = "",
        refused: dict[int, str] | None = None,
    ) -> None:
        super().__init__(message, status=status, said=said)
        self.refused = refused or {}


class HonchoUnauthorized(HonchoRequestError):
    """The key is missing, unknown, or does not open this workspace: 401 and 403."""


class HonchoNotFound(HonchoRequestError):
    """Honcho says that the thing does not exist: a 404 with Honcho's own body."""


class HonchoProtocolError(HonchoRequestError):
    """The answer is not one that a Honcho v3 gives: HTML, a redirect, another service's 404."""


class NoUser(HonchoMemoryError):
    """There is nobody whose memory could be looked through or changed."""


class InvalidFact(HonchoMemoryError, ValueError):
    """A fact cannot be what somebody wants it to be, or a document is none.

    Attributes:
        field: What is wrong with a fact: `content`, `category` or `confidence`.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class DuplicateFact(InvalidFact):
    """Another fact about the user says the same, upper and lower case aside."""

    def __init__(self, message: str = "another fact says the same") -> None:
        super().__init__(message, field="content")


class UnknownFact(HonchoMemoryError, LookupError):
    """The user has no fact of this id; somebody else's counts as none."""


class InvalidProfile(HonchoMemoryError, ValueError):
    """A profile cannot be kept as somebody wants it to be."""


class ReadOnlyMemoryError(HonchoMemoryError):
    """A view of a memory that can only be read was asked to change it."""


class OutboxError(HonchoMemoryError):
    """The outbox could not do what it was asked to."""


class OutboxFull(OutboxError):
    """Taking this turn would exceed the outbox's limit; nothing of it was taken."""


class OutboxUnavailable(OutboxError):
    """The outbox's storage failed: disk full, file damaged, closed; nothing was changed."""


def loggable(error: BaseException) -> str:
    """What of an error may be logged, where more people read than may know of the users.

    Of a foreign error only the kind, since its text may hold anything.
    """
    if isinstance(error, HonchoRequestError):
        return error.summary
    return str(error) if isinstance(error, HonchoMemoryError) else type(error).__name__
