"""The one gate that every read passes: what becomes of a failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from honcho_memory.domain.errors import HonchoMemoryError, loggable
from honcho_memory.domain.policy import ReadPolicy

logger = logging.getLogger("honcho_memory")


class Result(Protocol):
    """What a read gives; it may have an error and still be of use, from an earlier answer."""

    @property
    def error(self) -> HonchoMemoryError | None:
        """Why Honcho could not be asked, if it could not."""
        ...

    @property
    def is_asked(self) -> bool:
        """Whether it says anything of how Honcho is."""
        ...


T = TypeVar("T", bound=Result)


class ReadGate:
    """Applies the read failure policy, and says once per outage that reads fail."""

    def __init__(self, policy: ReadPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._is_failing = False

    def read(self, call: Callable[[], T], fallback: Callable[[HonchoMemoryError], T]) -> T:
        """What `call` returns, or, when it fails, what the policy says.

        Args:
            call: Reads; may raise anything.
            fallback: Gives the result that stands for the error under `fail_open`.

        Raises:
            HonchoMemoryError: `call` failed, and the policy is `fail_closed`.
        """
        try:
            result = call()
        except Exception as error:
            failure = _known(error)
            self._note(failure)
            if self._policy is ReadPolicy.FAIL_CLOSED:
                if failure is error:
                    raise
                raise failure from error
            return fallback(failure)
        if result.is_asked:
            self._note(result.error)
        return result

    def _note(self, failure: HonchoMemoryError | None) -> None:
        with self._lock:
            was_failing, self._is_failing = self._is_failing, failure is not None
        if failure is not None and not was_failing:
            logger.warning(
                "memory cannot be read: %s",
                loggable(failure),
                extra={"operation": "read", "error_type": type(failure).__name__},
            )
        elif failure is not None:
            logger.debug("memory still cannot be read: %s", failure)
        elif was_failing:
            logger.info("memory can be read again", extra={"operation": "read"})


def _known(error: Exception) -> HonchoMemoryError:
    if isinstance(error, HonchoMemoryError):
        return error
    # Only the kind: the text of a foreign error may hold what users said.
    return HonchoMemoryError(f"reading failed unexpectedly: {type(error).__name__}")
