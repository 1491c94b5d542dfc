"""The httpx client that the adapter is to be given."""

from __future__ import annotations

import re
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib import metadata

import httpx

from honcho_memory.adapters.honcho_http.forking import ForkSafeClient
from honcho_memory.domain.errors import ConfigurationError

KEEPALIVE_SECONDS = 3.0
"""Honcho closes an idle connection after 4.9 s; ours goes first, so no request races with that."""
MAX_CONNECTIONS = 96
"""More than there are requests at once: one that hangs takes no connection from another."""
MAX_IDLE_CONNECTIONS = 8

_SENDABLE_KEY = re.compile(r"[!-~]+")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def open_client(
    base_url: str,
    *,
    api_key: str | None,
    timeout_seconds: float,
    connect_timeout_seconds: float,
    transport: httpx.BaseTransport | None = None,
) -> httpx.Client:
    """Open a client for `HttpHoncho`; whoever opens it closes it.

    The operator's proxies and certificates (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE` and their
    like) hold as they do for every other client in the process, except that a server on this
    machine is never asked for through a proxy. Redirects are not followed: a Honcho sends none,
    and the key must not travel to where one leads.

    Args:
        base_url: Where the server is; `/v3/...` is appended to it.
        api_key: Sent as a bearer token; None for a server without authentication.
        timeout_seconds: For uses of the client that set no time-out; every call of `HttpHoncho`
            does.
        connect_timeout_seconds: How long a connection may take to open, at most.
        transport: Replaces the network.

    Raises:
        ConfigurationError: An address or key that no request can be made with, or proxies or
            certificates in the environment that httpx cannot use. The key is not named.
    """
    headers = {"User-Agent": f"honcho-memory/{_version()}"}
    if api_key is not None:
        if not _SENDABLE_KEY.fullmatch(api_key):
            raise ConfigurationError(
                "api_key must be visible ASCII characters without spaces or line breaks; "
                "the given one cannot be sent in a header"
            )
        headers["Authorization"] = f"Bearer {api_key}"
    _check_address(base_url)
    try:
        return ForkSafeClient(
            base_url=base_url,
            headers=headers,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=httpx.Timeout(timeout_seconds, connect=connect_timeout_seconds),
            limits=httpx.Limits(
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_IDLE_CONNECTIONS,
                keepalive_expiry=KEEPALIVE_SECONDS,
            ),
            transport=transport,
            mounts={f"all://{host}": None for host in _LOOPBACK},
            follow_redirects=False,
            trust_env=True,
        )
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as exc:
        # Only the kind: the text of an address may hold a proxy's password.
        raise ConfigurationError(
            "the proxies or certificates that the environment names cannot be used "
            f"({type(exc).__name__}): look at HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"
        ) from None


def _version() -> str:
    try:
        return metadata.version("honcho-memory")
    except metadata.PackageNotFoundError:
        return "unknown"


def _check_address(base_url: str) -> None:
    """Refuse what httpx would refuse on every single request; may hold a password: not shown."""
    try:
        url = httpx.URL(base_url)
        host = url.host
        url.raw_host.decode("ascii").encode("idna")  # as sockets do with every name
    except (ValueError, httpx.InvalidURL) as exc:
        raise ConfigurationError("base_url is not an address") from exc
    if url.scheme not in {"http", "https"} or not host:
        raise ConfigurationError("base_url must be an http:// or https:// address with a host")
