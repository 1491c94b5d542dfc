"""Blocking calls for callers on an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class NoThread(RuntimeError):
    """The process can have no more threads for now."""


class OffLoop:
    """Makes blocking calls on a few threads of its own, never on the host's.

    A thread ends when nothing waits for it, so there is nothing to close; a fork carries none
    over. Calls that find every thread busy wait their turn, without blocking the loop.

    Args:
        name: Of its threads.
        limit: How many calls may be under way.
    """

    def __init__(self, name: str, *, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._threads = 0

    async def run(self, call: Callable[[], T]) -> T:
        """Make a call, in the caller's context, and wait for its end.

        A caller that is cancelled stops waiting; the call is made all the same.

        Raises:
            NoThread: The system has none to give; the call was not made.
            Exception: Whatever `call` raises.
        """
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # from here on it cannot be cancelled
        context = contextvars.copy_context()
        self._submit(lambda: context.run(_settle, future, call))
        return await asyncio.wrap_future(future)

    def _submit(self, job: Callable[[], None]) -> None:
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            if self._threads < self._limit:
                try:
                    threading.Thread(target=self._work, name=self._name, daemon=True).start()
                except RuntimeError as error:
                    if not self._threads:
                        raise NoThread(str(error)) from error
                else:
                    self._threads += 1
            self._waiting.append(job)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads -= 1
                    return
                job = self._waiting.popleft()
            job()


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - handed over to whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)
