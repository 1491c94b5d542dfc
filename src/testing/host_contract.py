"""What every host gives its users, whatever it is built with; each is driven as it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from honcho_memory.domain.identity import Identities
from honcho_memory.testing.strict_honcho import RunningServer

ADA, BEN = "ada@example.org", "ben@example.org"


class HostUnderTest(Protocol):
    """A host with one memory, and threads that it keeps itself."""

    def turn(self, thread: str, question: str, answer: str, *, user: str | None = ADA) -> None:
        """Run a turn in which a tool is called too; fails when the run does."""
        ...

    def given(self, thread: str) -> str:
        """All that the model was given in the last run of a thread."""
        ...

    def deliver(self) -> bool:
        """Wait until what was said is in Honcho; says whether it is."""
        ...

    def restart(self) -> None:
        """Stop the process that has the memory, and start another on the same threads."""
        ...

    def close(self) -> None:
        """Stop."""
        ...


OpenHost = Callable[[str, Path], HostUnderTest]


class HostContract:
    """The suite; who inherits it gives `open_host`, which makes a host on a Honcho.

    It needs the plugin `honcho_memory.testing.fixtures`.
    """

    @pytest.fixture
    def open_host(self) -> OpenHost:
        """Makes a host from the address of a Honcho and a folder."""
        raise NotImplementedError

    @pytest.fixture
    def host(
        self, open_host: OpenHost, honcho_server: RunningServer, tmp_path: Path
    ) -> Iterator[HostUnderTest]:
        """A host on that Honcho."""
        host = open_host(honcho_server.url, tmp_path)
        yield host
        host.close()

    def test_a_thread_is_stored_once_in_order(
        self, host: HostUnderTest, honcho_server: RunningServer
    ) -> None:
        """What was said and the final answers, however often the thread is handed over."""
        for number in range(4):
            host.turn("t", f"question {number}", f"answer {number}")

        assert host.deliver()
        expected = [f"{part} {number}" for number in range(4) for part in ("question", "answer")]
        assert expected == stored(honcho_server, "t")

    def test_a_restart_stores_nothing_again(
        self, host: HostUnderTest, honcho_server: RunningServer
    ) -> None:
        """The thread goes on where it was."""
        host.turn("t", "question 0", "answer 0")
        host.restart()
        host.turn("t", "question 1", "answer 1")

        assert host.deliver()
        assert ["question 0", "answer 0", "question 1", "answer 1"] == stored(honcho_server, "t")

    def test_memory_is_there_in_the_next_thread(
        self, host: HostUnderTest, honcho_server: RunningServer
    ) -> None:
        """The model is given what the user has said before, and that is not stored again."""
        host.turn("monday", "I moved to Lisbon.", "Noted.")
        assert host.deliver()
        host.restart()  # no answer is fresh

        host.turn("friday", "Where do I live?", "In Lisbon.")

        assert "I moved to Lisbon." in host.given("friday")
        assert host.deliver()
        assert ["Where do I live?", "In Lisbon."] == stored(honcho_server, "friday")

    def test_users_do_not_meet(self, host: HostUnderTest, honcho_server: RunningServer) -> None:
        """Each has a memory of their own, in threads of the same name too."""
        host.turn("a", "I moved to Lisbon.", "Noted.")
        assert host.deliver()

        host.turn("b", "Where do I live?", "I do not know.", user=BEN)

        assert "Lisbon" not in host.given("b")
        assert host.deliver()
        assert [] == stored(honcho_server, "b")
        assert ["Where do I live?", "I do not know."] == stored(honcho_server, "b", user=BEN)

    @pytest.mark.parametrize("nobody", ["", None])
    def test_nothing_is_remembered_of_nobody(
        self, host: HostUnderTest, honcho_server: RunningServer, nobody: str | None
    ) -> None:
        """The run is as it would be without memory, and leaves no trace."""
        host.turn("t", "Hello", "Hi", user=nobody)

        assert host.deliver()
        assert [] == list(honcho_server.state.workspaces())

    def test_an_outage_costs_nothing_that_was_said(
        self, host: HostUnderTest, honcho_server: RunningServer
    ) -> None:
        """Runs go on, and what was said arrives, with the next start at the latest."""
        down = honcho_server.faults.answer(503, times=None)
        host.turn("t", "question 0", "answer 0")
        host.turn("t", "question 1", "answer 1")
        assert [] == list(honcho_server.state.workspaces())
        down.stop()
        host.restart()

        assert host.deliver()
        assert ["question 0", "answer 0", "question 1", "answer 1"] == stored(honcho_server, "t")


def stored(honcho_server: RunningServer, thread: str, *, user: str = ADA) -> list[str]:
    """What a Honcho holds of a thread."""
    identities = Identities()
    who = identities.user(user)
    assert who is not None
    messages = honcho_server.state.messages(who.workspace, identities.session(thread))
    return [message.content for message in messages]
