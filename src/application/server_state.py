"""Whether Honcho can be asked right now: what delivery and recall know together."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from honcho_memory.domain.errors import (
    HonchoProtocolError,
    HonchoRequestError,
    HonchoUnauthorized,
    HonchoUnavailable,
    loggable,
)
from honcho_memory.ports.clock import Clock

logger = logging.getLogger("honcho_memory")

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Between two tries while Honcho is down, in seconds; a Retry-After may ask for more."""
LONGEST_RETRY_AFTER = 3600.0
LOST_ANSWERS = 3
"""So many in a row, whatever was asked: not one operation is slow, but the server."""
SLOW_PROBE = 300.0
"""Between two tries of what a person has to mend: the key, the address."""

_DOWN_STATUSES = frozenset({None, 429, 502, 503, 504})


class Condition(StrEnum):
    """How Honcho is, as far as is known."""

    OK = "ok"
    DOWN = "down"
    UNAUTHORIZED = "unauthorized"
    NOT_HONCHO = "not_honcho"


_ADVICE = {
    Condition.DOWN: "; check that it runs and that base_url is its address",
    Condition.UNAUTHORIZED: "; check the key in api_key_env or api_key",
}
"""The other errors say themselves what to do."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The last request that failed.

    Attributes:
        kind: The class of the error.
        reason: What it said.
        at: When, in seconds since the epoch.
    """

    kind: str
    reason: str
    at: float


class ServerState:
    """Lets requests through while Honcho is well, and one now and then while it is not.

    Args:
        clock: Its monotonic reading measures the pauses.
        jitter: Gives 0 to 1; keeps many processes from trying in step.
    """

    def __init__(self, clock: Clock, jitter: Callable[[], float] = random.random) -> None:
        self._clock = clock
        self._jitter = jitter
        self._lock = threading.Lock()
        self._condition = Condition.OK
        self._reason = ""
        self._not_before = 0.0
        self._failures = 0
        self._lost = 0
        self._has_answered = False
        self._episode: int = 0
        self._last_failure: Failure | None = None

    @property
    def condition(self) -> Condition:
        """How Honcho is."""
        return self._condition

    @property
    def last_failure(self) -> Failure | None:
        """The last request that failed, whatever it says about the server."""
        return self._last_failure

    def pause(self) -> float:
        """Seconds until a request would be let through; 0 when one would be now."""
        if self._condition is Condition.OK:
            return 0.0
        return max(0.0, self._not_before - self._clock.monotonic())

    def enter(self) -> int:
        """Ask to be let through with one request.

        Returns:
            A ticket, to be given back with `failed`.

        Raises:
            HonchoUnavailable: It is not let through.
        """
        with self._lock:
            if self._condition is not Condition.OK:
                pause = self.pause()
                if pause > 0:
                    raise HonchoUnavailable(
                        f"Honcho cannot be used: {self._reason}; tried again in {pause:.0f} s"
                    )
                # This one is the probe; the others wait until it is over or given up.
                self._not_before = self._clock.monotonic() + self._backoff()
            return self._episode

    def failed(self, error: HonchoRequestError, ticket: int) -> None:
        """A request that was let through came to this."""
        self._last_failure = Failure(type(error).__name__, str(error), self._clock.time())
        condition = _condition_after(error)
        if condition is Condition.OK:
            self.answered()
            return
        with self._lock:
            if ticket != self._episode:
                return  # a request of the same moment has said so already
            if self._condition is Condition.OK and self._is_alone(error):
                return
            changed = condition is not self._condition
            self._condition = condition
            self._reason = loggable(error)
            self._episode += 1
            self._failures += 1
            self._not_before = self._clock.monotonic() + self._pause_after(error)
        if changed:
            logger.warning(
                "Honcho cannot be used: %s%s",
                loggable(error),
                _ADVICE.get(condition, ""),
                extra={"condition": condition.value, "error_type": type(error).__name__},
            )

    def answered(self) -> None:
        """A request was answered by Honcho, be it with a refusal."""
        with self._lock:
            self._lost = 0
            self._has_answered = True
            if self._condition is Condition.OK:
                return
            self._condition = Condition.OK
            self._failures = 0
            self._episode += 1
        logger.info("Honcho can be used again", extra={"condition": Condition.OK.value})

    def _is_alone(self, error: HonchoRequestError) -> bool:
        """Whether a failure says something about its own request only; under the lock.

        One answer that does not come is a slow operation. And where Honcho has answered before,
        a key that it refuses is not for that workspace, and a strange answer is a strange answer.
        """
        if not isinstance(error, HonchoUnavailable):
            return self._has_answered
        if error.status is None and error.outcome_unknown:
            self._lost += 1
            return self._lost < LOST_ANSWERS
        return False

    def _pause_after(self, error: HonchoRequestError) -> float:
        if not isinstance(error, HonchoUnavailable):
            return SLOW_PROBE
        return max(self._backoff(), min(error.retry_after or 0.0, LONGEST_RETRY_AFTER))

    def _backoff(self) -> float:
        return backoff(self._failures, self._jitter(), longest=LONGEST_PAUSE)


def backoff(failures: int, jitter: float, *, longest: float) -> float:
    """Seconds to wait after so many failures in a row: doubling, half of it by chance."""
    pause: float = min(longest, FIRST_PAUSE * 2 ** min(max(failures - 1, 0), 20))
    return pause * (0.5 + jitter / 2)


def _condition_after(error: HonchoRequestError) -> Condition:
    """What a failure says about the server as a whole; a refusal or a 500 says nothing."""
    if isinstance(error, HonchoUnauthorized):
        return Condition.UNAUTHORIZED
    if isinstance(error, HonchoProtocolError):
        return Condition.NOT_HONCHO
    if isinstance(error, HonchoUnavailable) and error.status in _DOWN_STATUSES:
        return Condition.DOWN
    return Condition.OK
