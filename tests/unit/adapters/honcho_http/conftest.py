"""What the tests of the HTTP adapter share: a clock, canned answers, servers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator

import httpx
import pytest

from honcho_memory.adapters.honcho_http import HttpHoncho, open_client
from honcho_memory.testing.strict_honcho import RunningServer, running_server

BASE_URL = "http://honcho.test"
Handler = Callable[[httpx.Request], httpx.Response]


class ManualClock:
    """Stands still until it is moved; the epoch is half past two on 1 December 2026."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return 1_796_135_400.0 + self.now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def answered(clock: ManualClock) -> Generator[Callable[[Handler], HttpHoncho]]:
    """The adapter, with a function in the place of the network."""
    clients: list[httpx.Client] = []

    def build(handler: Handler) -> HttpHoncho:
        transport = httpx.MockTransport(handler)
        client = httpx.Client(transport=transport, base_url=BASE_URL)
        clients.append(client)
        return HttpHoncho(client, clock=clock)

    yield build
    for client in clients:
        client.close()


@pytest.fixture
def connected() -> Generator[Callable[[str], HttpHoncho]]:
    """The adapter, with a real client for an address."""
    clients: list[httpx.Client] = []

    def build(url: str) -> HttpHoncho:
        client = open_client(url, api_key=None, timeout_seconds=5, connect_timeout_seconds=5)
        clients.append(client)
        return HttpHoncho(client)

    yield build
    for client in clients:
        client.close()


@pytest.fixture
def raw_server() -> Generator[Callable[[bytes], str]]:
    """The URL of a server that answers one request with the given bytes, and hangs up."""
    threads: list[threading.Thread] = []

    def build(answer: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            with listener, listener.accept()[0] as connection:
                connection.recv(65_536)
                connection.sendall(answer)

        threads.append(threading.Thread(target=serve, daemon=True))
        threads[-1].start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield build
    for thread in threads:
        thread.join()


@pytest.fixture(scope="package")
def shared_server() -> Generator[RunningServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def server(shared_server: RunningServer) -> Generator[RunningServer]:
    """A strict server without faults; it may hold what other tests have left."""
    shared_server.forget_requests()
    yield shared_server
    shared_server.faults.clear()
