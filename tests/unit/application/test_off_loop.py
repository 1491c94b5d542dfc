"""Blocking calls for callers on an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading

import pytest

from honcho_memory.application.off_loop import OffLoop

WAIT = 30.0


class Held:
    """A call that says when it was begun, and ends when it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.ended = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.go.wait(WAIT)
        self.ended.set()
        return threading.current_thread().name


async def happened(event: threading.Event) -> bool:
    """Wait for an event without blocking the loop."""
    return await asyncio.to_thread(event.wait, WAIT)


async def test_a_call_is_made_on_a_thread_with_a_name() -> None:
    """Its threads can be told from the host's."""
    off_loop = OffLoop("honcho-test", limit=1)

    assert "honcho-test" == await off_loop.run(lambda: threading.current_thread().name)


async def test_what_a_call_raises_comes_out() -> None:
    """The caller learns of a failure as if it had made the call itself."""

    def fail() -> None:
        raise KeyError("reason")

    with pytest.raises(KeyError, match="reason"):
        await OffLoop("honcho-test", limit=1).run(fail)


async def test_a_call_has_its_callers_context() -> None:
    """What the host keeps in context variables, such as a trace id in its log lines, is there."""
    trace = contextvars.ContextVar("trace", default="")
    trace.set("trace-1")

    assert "trace-1" == await OffLoop("honcho-test", limit=1).run(trace.get)


async def test_no_more_calls_are_made_at_once_than_allowed() -> None:
    """The next one waits until a thread is free, and then has its turn."""
    off_loop = OffLoop("honcho-busy", limit=2)
    calls = [Held(), Held(), Held()]
    runs = [asyncio.ensure_future(off_loop.run(call)) for call in calls]
    assert await happened(calls[0].begun)
    assert await happened(calls[1].begun)
    busy = [thread for thread in threading.enumerate() if thread.name == "honcho-busy"]
    assert 2 == len(busy)
    assert not calls[2].begun.is_set()

    for call in calls:
        call.go.set()

    assert ["honcho-busy"] * 3 == await asyncio.gather(*runs)


async def test_a_thread_ends_when_there_is_nothing_to_do() -> None:
    """Nothing has to be closed, and nothing is left behind."""
    off_loop = OffLoop("honcho-test", limit=1)

    thread = await off_loop.run(threading.current_thread)

    await asyncio.to_thread(thread.join, WAIT)
    assert not thread.is_alive()
    assert thread is not await off_loop.run(threading.current_thread)


async def test_a_cancelled_caller_does_not_cancel_the_call() -> None:
    """Not even one that has not begun: what it hands over must not be lost."""
    off_loop = OffLoop("honcho-test", limit=1)
    first, second = Held(), Held()
    runs = [asyncio.ensure_future(off_loop.run(call)) for call in (first, second)]
    assert await happened(first.begun)

    for run in runs:
        run.cancel()
    for run in runs:
        with pytest.raises(asyncio.CancelledError):
            await run
    first.go.set()
    second.go.set()

    assert await happened(first.ended)
    assert await happened(second.ended)


def test_a_loop_may_be_gone_before_its_call_ends() -> None:
    """A host that shuts its loop down leaves no error behind."""
    off_loop, call = OffLoop("honcho-test", limit=1), Held()

    async def begin() -> None:
        run = asyncio.ensure_future(off_loop.run(call))
        assert await happened(call.begun)
        run.cancel()

    asyncio.run(begin())
    call.go.set()

    assert call.ended.wait(WAIT)
    assert 1 == asyncio.run(off_loop.run(lambda: 1))


async def test_a_system_without_threads_is_an_error_to_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Waiting for a thread that never comes would be worse."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    off_loop = OffLoop("honcho-test", limit=2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            await off_loop.run(lambda: 1)

    assert 1 == await off_loop.run(lambda: 1)


async def test_calls_share_the_threads_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives no second thread, the second call waits for the first."""
    off_loop, held = OffLoop("honcho-test", limit=2), Held()
    first = asyncio.ensure_future(off_loop.run(held))
    assert await happened(held.begun)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        second = asyncio.ensure_future(off_loop.run(lambda: 2))
        await asyncio.sleep(0)
    held.go.set()

    assert 2 == await second
    assert "honcho-test" == await first


async def test_a_fork_starts_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads of its parent, and what waits for them, are not there."""
    off_loop, held = OffLoop("honcho-test", limit=1), Held()
    first = asyncio.ensure_future(off_loop.run(held))
    assert await happened(held.begun)

    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        assert 1 == await off_loop.run(lambda: 1)

    held.go.set()
    await first
