"""A client in a process that was forked."""

from __future__ import annotations

import os

import httpx
import pytest

from honcho_memory.adapters.honcho_http import open_client
from honcho_memory.adapters.honcho_http.forking import ForkSafeClient


class Transport(httpx.MockTransport):
    """A network that counts how often it was closed."""

    def __init__(self) -> None:
        super().__init__(lambda request: httpx.Response(200))
        self.closed = 0

    def close(self) -> None:
        """Close it."""
        self.closed += 1


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Client]:
    """The clients that were made from here on."""
    made: list[httpx.Client] = []
    real = httpx.Client.__init__

    def note(client: httpx.Client, **options: object) -> None:
        made.append(client)
        real(client, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(httpx.Client, "__init__", note)
    return made


def open_one(transport: httpx.BaseTransport) -> httpx.Client:
    return open_client(
        "http://127.0.0.1:1",
        api_key="key",
        timeout_seconds=1,
        connect_timeout_seconds=1,
        transport=transport,
    )


def get(client: httpx.Client) -> str:
    """Ask for something; the key that it was asked for with."""
    response = client.send(client.build_request("GET", "/"))
    return response.request.headers["Authorization"]


def test_a_fork_opens_connections_of_its_own(
    opened: list[httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever used the connections of another process would read its answers."""
    client = open_one(Transport())
    assert "Bearer key" == get(client)
    assert 1 == len(opened)

    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert "Bearer key" == get(client)
    assert "Bearer key" == get(client)
    assert 2 == len(opened)


def test_a_fork_closes_what_it_has_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves alone what its parent has opened."""
    transport = Transport()
    client = open_one(transport)

    monkeypatch.setattr(os, "getpid", lambda: -1)
    client.close()
    assert 0 == transport.closed

    get(client)
    client.close()
    assert 1 == transport.closed


def test_without_a_fork_it_is_an_ordinary_client() -> None:
    """Closing it closes its connections."""
    transport = Transport()
    with open_one(transport) as client:
        get(client)

    assert isinstance(client, ForkSafeClient)
    assert client.is_closed
