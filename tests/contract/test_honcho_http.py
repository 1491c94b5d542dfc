"""The HTTP adapter keeps the contract of the port, over a real socket."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx
import pytest

from honcho_memory.adapters.honcho_http import HttpHoncho, open_client
from honcho_memory.ports.honcho import Honcho
from honcho_memory.testing.honcho_contract import TIMEOUT, HonchoContract, Seen
from honcho_memory.testing.management_contract import ManagedOutside, ManagementContract
from honcho_memory.testing.strict_honcho import RunningServer, running_server

LIVE_URL = os.environ.get("HONCHO_MEMORY_TEST_URL", "")
LIVE_KEY = os.environ.get("HONCHO_MEMORY_TEST_API_KEY")

_DELETION_SECONDS = 300
_DERIVED_LATER = "a real server derives in the background, up to half an hour later"


class HttpOutside:
    """A server at a URL, seen and set up by requests that are not the adapter's."""

    def __init__(self, url: str, client: httpx.Client) -> None:
        self.honcho = HttpHoncho(client)
        self._workspaces = f"{url}/v3/workspaces"
        self._headers = {"Authorization": f"Bearer {LIVE_KEY}"} if LIVE_KEY else {}
        self._deleting: list[tuple[str, str]] = []

    def messages(self, workspace: str, session: str) -> Sequence[Seen]:
        path = f"/{workspace}/sessions/{session}/messages/list"
        return [
            Seen(
                item["peer_id"],
                item["content"],
                datetime.fromisoformat(item["created_at"]),
                item["metadata"],
            )
            for item in self._items(path)
        ]

    def observes(self, workspace: str, peer: str) -> bool | None:
        for item in self._items(f"/{workspace}/peers/list"):
            if item["id"] == peer:
                return item["configuration"].get("observe_me") is not False
        return None

    def exists(self, workspace: str) -> bool:
        filters = {"id": workspace}
        answer = self._ask("POST", "/list?size=1", {"filters": filters})
        return bool(answer["items"])

    def conclusions(self, workspace: str) -> Sequence[tuple[str, str, str]]:
        return [
            (item["observer_id"], item["observed_id"], item["content"])
            for item in reversed(self._items(f"/{workspace}/conclusions/list"))
        ]

    def card(self, workspace: str, peer: str) -> Sequence[str]:
        lines: list[str] | None = self._ask("GET", f"/{workspace}/peers/{peer}/card")["peer_card"]
        return lines or []

    def metadata(self, workspace: str, peer: str) -> Mapping[str, object] | None:
        for item in self._items(f"/{workspace}/peers/list"):
            if item["id"] == peer:
                found: dict[str, object] = item["metadata"]
                return found
        return None

    def set_card(self, workspace: str, peer: str, lines: Sequence[str]) -> None:
        self._ask("PUT", f"/{workspace}/peers/{peer}/card", {"peer_card": list(lines)})

    def add_conclusion(
        self,
        workspace: str,
        peer: str,
        content: str,
        session: str | None = None,
        *,
        observer: str | None = None,
    ) -> None:
        conclusion = {
            "content": content,
            "observer_id": observer or peer,
            "observed_id": peer,
            "session_id": session,
        }
        self._ask("POST", f"/{workspace}/conclusions", {"conclusions": [conclusion]})

    def delete_session(self, workspace: str, session: str) -> None:
        self._ask("DELETE", f"/{workspace}/sessions/{session}")
        self._deleting.append((workspace, session))

    def finish_deletions(self) -> None:
        """Wait until no peer is in the sessions any more: until then they cannot be written."""
        pause = threading.Event()
        for _ in range(_DELETION_SECONDS):
            if not any(self._is_listed(*each) for each in self._deleting):
                self._deleting.clear()
                return
            pause.wait(1)
        raise TimeoutError(f"after {_DELETION_SECONDS} s {self._deleting} are still there")

    def _is_listed(self, workspace: str, session: str) -> bool:
        peers = [item["id"] for item in self._items(f"/{workspace}/peers/list")]
        return any(
            item["id"] == session
            for peer in peers
            for item in self._items(f"/{workspace}/peers/{peer}/sessions")
        )

    def _items(self, path: str) -> Sequence[Any]:
        items: list[Any] = []
        page, pages = 1, 1
        while page <= pages:
            answer = self._ask("POST", f"{path}?page={page}&size=100", {})
            items += answer["items"]
            page, pages = page + 1, answer["pages"]
        return items

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        response = httpx.request(
            method,
            self._workspaces + path,
            json=body,
            headers=self._headers,
            timeout=TIMEOUT,
            trust_env=False,
        )
        response.raise_for_status()
        return response.json()


class StrictOutside(HttpOutside):
    """The strict server of the tests, whose storage can be looked at and hurried."""

    def __init__(self, server: RunningServer, client: httpx.Client) -> None:
        super().__init__(server.url, client)
        self._server = server

    def messages(self, workspace: str, session: str) -> Sequence[Seen]:
        return [
            Seen(each.peer_id, each.content, each.created_at, each.metadata)
            for each in self._server.state.messages(workspace, session)
        ]

    def exists(self, workspace: str) -> bool:
        return workspace in self._server.state.workspaces()

    def finish_deletions(self) -> None:
        self._server.finish_deletions()


@pytest.fixture(scope="module")
def server() -> Generator[RunningServer]:
    with running_server() as running:
        yield running


class TestHttpHoncho(HonchoContract, ManagementContract):
    @pytest.fixture
    def outside(self, server: RunningServer) -> Generator[ManagedOutside]:
        with open_client(
            server.url, api_key=None, timeout_seconds=TIMEOUT, connect_timeout_seconds=TIMEOUT
        ) as client:
            yield StrictOutside(server, client)


@pytest.mark.skipif(not LIVE_URL, reason="HONCHO_MEMORY_TEST_URL names no Honcho v3 server")
class TestHttpHonchoLive(HonchoContract, ManagementContract):
    """Against the server at HONCHO_MEMORY_TEST_URL, which keeps the workspaces of the tests."""

    @pytest.fixture
    def outside(self) -> Generator[ManagedOutside]:
        with open_client(
            LIVE_URL,
            api_key=LIVE_KEY,
            timeout_seconds=TIMEOUT,
            connect_timeout_seconds=TIMEOUT,
        ) as client:
            yield HttpOutside(LIVE_URL.rstrip("/"), client)

    @pytest.mark.skip(reason=_DERIVED_LATER)
    def test_represents_what_was_said(self, honcho: Honcho, workspace: str) -> None: ...
