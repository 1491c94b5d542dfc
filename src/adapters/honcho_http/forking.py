"""An httpx client that a process can be forked with."""

from __future__ import annotations

import os
from typing import Any

import httpx


class ForkSafeClient(httpx.Client):
    """An httpx client whose connections a fork does not share.

    A child that used its parent's connections would read its parent's answers. It opens its own
    instead; those of its parent it leaves alone.

    Args:
        options: Of `httpx.Client`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._options = options
        self._pid = os.getpid()
        self._heirs: dict[int, httpx.Client] = {}

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """See `httpx.Client.send`."""
        pid = os.getpid()
        if pid == self._pid:
            return super().send(request, **options)
        # Of two threads that get here at once, one throws away a client that it never used.
        heir = self._heirs.get(pid) or self._heirs.setdefault(pid, httpx.Client(**self._options))
        return heir.send(request, **options)

    def close(self) -> None:
        """See `httpx.Client.close`."""
        if os.getpid() == self._pid:
            super().close()
        elif heir := self._heirs.get(os.getpid()):
            heir.close()
