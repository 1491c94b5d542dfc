"""Warming up: the operator learns at the start whether Honcho can be used."""

from __future__ import annotations

import logging

from honcho_memory.application.requests import Requests
from honcho_memory.application.server_state import Condition, ServerState
from honcho_memory.domain.errors import loggable
from honcho_memory.ports.honcho import MemoryReads

logger = logging.getLogger("honcho_memory")

WARM_TIMEOUT = 2.0
"""Seconds; a host waits for it before it serves anybody."""
CHECK_ID = "honcho-memory-check"
"""A peer that nobody is; of derived ids each ends in a digest."""


class Warming:
    """Opens the connection to Honcho and shows the key, by a read that creates nothing.

    Args:
        honcho: Where.
        requests: The way there.
        state: What the check finds out holds for every other request too.
        server: The address, for the operator.
        workspace: One that the key has to open; it need not exist.
    """

    def __init__(
        self,
        honcho: MemoryReads,
        requests: Requests,
        state: ServerState,
        *,
        server: str,
        workspace: str,
    ) -> None:
        self._honcho = honcho
        self._requests = requests
        self._state = state
        self._server = server
        self._workspace = workspace

    def warm(self) -> None:
        """Check, within `WARM_TIMEOUT`, and log in one line what came of it; never raises."""
        try:
            self._requests.run(self._check, timeout=WARM_TIMEOUT)
        except Exception as error:  # noqa: BLE001 - a memory must not fail the host's start
            # The state has said what keeps every request from Honcho, once for all of them.
            if self._state.condition is Condition.OK:
                logger.warning(
                    "Honcho at %s could not be checked: %s",
                    self._server,
                    loggable(error),
                    extra={"operation": "warm", "error_type": type(error).__name__},
                )
        else:
            logger.info("Honcho at %s can be used", self._server, extra={"operation": "warm"})

    def _check(self, timeout: float) -> str:
        return self._honcho.representation(
            self._workspace, CHECK_ID, max_conclusions=1, timeout=timeout
        )
