"""The user whom DeerFlow names when it does not know who it is."""

from __future__ import annotations

import logging
import threading

from honcho_memory.settings import Settings

logger = logging.getLogger("honcho_memory")

LOST_USER = "default"


class LostUser:
    """Warns once when memory is kept of the user that DeerFlow names for want of another."""

    def __init__(self, settings: Settings) -> None:
        self._lock = threading.Lock()
        self._is_decided = bool(settings.anonymous_user_ids)

    def look_out(self, user_id: object) -> None:
        """Note that this user came by."""
        if not isinstance(user_id, str) or user_id != LOST_USER:
            return
        with self._lock:
            was_decided, self._is_decided = self._is_decided, True
        if not was_decided:
            logger.warning(
                "memory is kept of the user %r: DeerFlow names that one when it has lost the "
                "user, and when it runs without authentication. If several people come by under "
                "it, they share one memory; anonymous_user_ids: [%s] keeps none of it",
                LOST_USER,
                LOST_USER,
                extra={"operation": "identify"},
            )
