"""Doing things for callers that must not wait."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable

logger = logging.getLogger("honcho_memory")

MOST_JOBS = 1_000
"""How many may wait; a job holds a thread's messages."""


class Writer:
    """One thread that does what it is handed, in order. It starts on first use."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._jobs: queue.Queue[Callable[[], object]] = queue.Queue(MOST_JOBS)
        self._lock = threading.Lock()
        self._is_started = False

    def submit(self, job: Callable[[], object]) -> bool:
        """Hand over a job without waiting; False when too many wait already."""
        if self._pid != os.getpid():
            self._reset()  # a fork has no thread of its parent's
        with self._lock:
            if not self._is_started:
                threading.Thread(target=self._work, name="honcho-writer", daemon=True).start()
                self._is_started = True
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            return False
        return True

    def settle(self, timeout: float) -> bool:
        """Wait until all jobs handed over so far are done; returns whether they are."""
        if self._pid != os.getpid() or not self._jobs.unfinished_tasks:
            return True
        done, deadline = threading.Event(), time.monotonic() + timeout
        try:
            self._jobs.put(done.set, timeout=timeout)
        except queue.Full:
            return False
        return done.wait(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                job()
            except BaseException as error:  # noqa: BLE001 - a dead thread would lose every later job
                # Only the kind: the text of a foreign error may hold what users said.
                kind = type(error).__name__
                logger.error(  # noqa: TRY400
                    "a job failed unexpectedly: %s",
                    kind,
                    extra={"operation": "remember", "error_type": kind},
                )
            finally:
                self._jobs.task_done()
