"""An address that can be logged."""

from __future__ import annotations

import httpx


class QuietUrl(httpx.URL):
    """An address that shows no path, because the ids in it tell who the user is.

    httpx logs the address of every request at INFO, and whatever watches a client shows it too.
    What is sent is made of its parts, which are all there.

    Args:
        url: What it is.
        name: What is asked there, shown instead.
    """

    def __init__(self, url: httpx.URL, name: str) -> None:
        super().__init__(url)
        self._name = name

    def __str__(self) -> str:
        return f"{self.copy_with(userinfo=b'', raw_path=b'/')} ({self._name})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"
