"""Doing things for callers that must not wait."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from honcho_memory.application import writer
from honcho_memory.application.writer import Writer

PATIENCE = 60.0


def test_jobs_are_done_in_order() -> None:
    """What was handed over first is done first, on another thread."""
    done: list[int] = []
    threads: set[str] = set()
    jobs = Writer()

    for number in range(100):
        jobs.submit(partial(done.append, number))
    jobs.submit(lambda: threads.add(threading.current_thread().name))

    assert jobs.settle(PATIENCE)
    assert list(range(100)) == done
    assert {"honcho-writer"} == threads


def test_with_nothing_to_do_there_is_nothing_to_wait_for() -> None:
    """A caller that comes after all is done is not held up."""
    jobs = Writer()

    assert jobs.settle(0)


def test_a_job_that_fails_does_not_stop_the_next(caplog: pytest.LogCaptureFixture) -> None:
    """A fault in one hand-over costs that one."""
    jobs, done = Writer(), threading.Event()

    jobs.submit(lambda: int("no number"))
    jobs.submit(done.set)

    assert done.wait(PATIENCE)
    assert "unexpectedly" in caplog.text


def test_not_even_a_panic_ends_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    """What is no Exception would silence every later hand-over; its text is not logged."""
    jobs, done = Writer(), threading.Event()

    def panic() -> None:
        raise SystemExit("what the user said")

    jobs.submit(panic)
    jobs.submit(done.set)

    assert done.wait(PATIENCE)
    assert ["a job failed unexpectedly: SystemExit"] == caplog.messages


def test_waiting_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that hangs does not hang those who wait for it, nor those who hand over more."""
    monkeypatch.setattr(writer, "MOST_JOBS", 1)
    jobs, started, release = Writer(), threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        release.wait()

    jobs.submit(hang)
    assert started.wait(PATIENCE)

    assert not jobs.settle(0.01)
    assert not jobs.submit(release.wait)
    assert not jobs.settle(0.01)
    release.set()


def test_a_fork_starts_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child has neither its parent's thread nor its jobs."""
    jobs, done = Writer(), threading.Event()
    jobs.submit(lambda: None)
    jobs.settle(PATIENCE)
    monkeypatch.setattr("os.getpid", lambda: -1)

    assert jobs.settle(0)
    jobs.submit(done.set)

    assert done.wait(PATIENCE)
