"""What a fork of the process waits for, so that the child finds nothing half done."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Pausable(Protocol):
    """Something that keeps everybody out for the moment of a fork."""

    def pause(self) -> None:
        """Wait until nobody is in it, and keep everybody out until `resume`."""
        ...

    def resume(self) -> None:
        """Let everybody in again."""
        ...


T = TypeVar("T", bound=Pausable)


class PausedAtFork(Generic[T]):
    """Things that are paused while the process forks, for as long as somebody else keeps them.

    Args:
        in_child: Is called with each of them in the child, once all are resumed.
    """

    def __init__(self, in_child: Callable[[T], object] = lambda _: None) -> None:
        self._in_child = in_child
        self._all: weakref.WeakSet[T] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._paused: list[T] = []
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(
                before=self._pause,
                after_in_parent=self._resume,
                after_in_child=self._resume_in_child,
            )

    def add(self, each: T) -> None:
        """Pause this one too."""
        with self._lock:
            self._all.add(each)

    def _pause(self) -> None:
        self._lock.acquire()
        for each in list(self._all):
            each.pause()
            self._paused.append(each)

    def _resume(self) -> None:
        while self._paused:
            self._paused.pop().resume()
        self._lock.release()

    def _resume_in_child(self) -> None:
        inherited = list(self._paused)
        self._resume()
        for each in inherited:
            self._in_child(each)
