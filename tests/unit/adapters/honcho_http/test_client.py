"""The client that the composition root opens for the adapter."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import httpx
import pytest

from honcho_memory.adapters.honcho_http import HttpHoncho, open_client
from honcho_memory.domain.errors import ConfigurationError, HonchoProtocolError
from honcho_memory.testing.strict_honcho import RunningServer

HONCHO_CLOSES_AFTER = 4.9


def opened(
    base_url: str = "http://honcho.test",
    api_key: str | None = None,
    handler: Callable[[httpx.Request], httpx.Response] | None = None,
) -> httpx.Client:
    return open_client(
        base_url,
        api_key=api_key,
        timeout_seconds=8,
        connect_timeout_seconds=2,
        transport=httpx.MockTransport(handler) if handler else None,
    )


def echo(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json=dict(request.headers))


def test_requests_say_who_asks() -> None:
    """The server's log shows which library asked, with its version."""
    with opened(handler=echo) as http:
        agent = http.get("/").json()["user-agent"]

    assert agent.startswith("honcho-memory/")


def test_version_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the source that was never installed works too, and owns up to it."""

    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)

    with opened(handler=echo) as http:
        assert http.get("/").json()["user-agent"] == "honcho-memory/unknown"


def test_key_is_sent_as_a_bearer_token() -> None:
    """A server with authentication gets the key in the header that it expects."""
    with opened(api_key="s3cret", handler=echo) as http:
        assert http.get("/").json()["authorization"] == "Bearer s3cret"


def test_without_a_key_none_is_sent() -> None:
    """A server without authentication is asked without a header for it."""
    with opened(handler=echo) as http:
        assert "authorization" not in http.get("/").json()


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel"])
def test_key_that_no_header_can_carry_is_refused(key: str) -> None:
    """A key with a line break out of a file is refused at once, and not shown in the error."""
    with pytest.raises(ConfigurationError, match="api_key") as caught:
        opened(api_key=key)

    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "honcho:8000",
        "ftp://honcho",
        "http://",
        "http://[::1",
        "http://honcho..test",
        f"http://{'h' * 64}.test",
        "http://xn--.test",
    ],
)
def test_address_that_is_none_is_refused(url: str) -> None:
    """An address that every request would fail with is refused before the first one."""
    with pytest.raises(ConfigurationError, match="base_url"):
        opened(url)


def test_idle_connections_are_closed_before_honcho_closes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A connection is not used again in the moments around which the server hangs up."""
    limits: list[httpx.Limits] = []

    class Noted(httpx.Limits):
        def __init__(self, **settings: float) -> None:
            super().__init__(**settings)  # type: ignore[arg-type]  # passed on as they came
            limits.append(self)

    monkeypatch.setattr(httpx, "Limits", Noted)
    opened().close()

    expiry = limits[0].keepalive_expiry
    assert expiry is not None
    assert expiry <= HONCHO_CLOSES_AFTER - 1


def test_redirects_are_not_followed() -> None:
    """The key and the users' words do not travel to where a redirect leads."""
    with opened(handler=lambda _: httpx.Response(302, headers={"Location": "/login"})) as http:
        assert http.get("/").status_code == 302


def test_time_outs_are_the_given_ones() -> None:
    """Opening a connection has its own limit."""
    with opened() as http:
        assert httpx.Timeout(8, connect=2) == http.timeout


def test_server_on_this_machine_is_never_asked_through_a_proxy(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A company's proxy in the environment does not get in the way of a local Honcho."""
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    with opened(server.url) as http:
        assert HttpHoncho(http).peer_card("ws", "nobody", timeout=5) == ()


def test_server_elsewhere_is_asked_through_the_proxy(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator's proxy holds for this client as for every other in the process."""
    for name in ("ALL_PROXY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    with opened("http://honcho.test") as http, pytest.raises(HonchoProtocolError):
        HttpHoncho(http).peer_card("ws", "nobody", timeout=5)

    assert [request.headers["host"] for request in server.requests] == ["honcho.test"]


@pytest.mark.parametrize(
    ("name", "value"), [("ALL_PROXY", "gopher://proxy"), ("SSL_CERT_FILE", "/nowhere/ca.pem")]
)
def test_environment_that_httpx_cannot_use_is_a_configuration_error(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy of an unknown kind or a missing certificate file is named, not passed through."""
    monkeypatch.setenv(name, value)

    with pytest.raises(ConfigurationError, match="environment"):
        opened("https://honcho.test")
