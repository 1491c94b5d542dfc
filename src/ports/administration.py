"""What whoever looks after a deployment needs of a Honcho server, beside its memory.

Time-outs and errors are those of `honcho_memory.ports.honcho`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Health:
    """What a server says of itself.

    Attributes:
        date: Its clock, with an offset; None when it does not tell.
    """

    date: datetime | None


class Administration(Protocol):
    """A Honcho server as something to look after."""

    def health(self, *, timeout: float) -> Health:
        """Whether it serves at all; neither the key nor its database is looked at."""
        ...

    def delete_session(self, workspace: str, session: str, *, timeout: float) -> None:
        """Begin to delete a session, with its messages and what was derived from them.

        Until that has finished, in the background, it cannot be written.

        Raises:
            HonchoNotFound: There is none, or it is being deleted already.
        """
        ...

    def delete_workspace(self, workspace: str, *, timeout: float) -> None:
        """Delete a workspace; what is written to it from then on is lost.

        Raises:
            HonchoNotFound: There is none.
            HonchoRejected: It still has sessions.
        """
        ...
