"""The address of a request, as others see it."""

from __future__ import annotations

import httpx

from honcho_memory.adapters.honcho_http.quiet_url import QuietUrl

ADDRESS = "https://name:secret@honcho.test:8443/base/v3/workspaces/deerflow-u-ada?page=2"


def test_it_shows_the_server_and_what_is_asked() -> None:
    """Whoever logs it learns what an operator needs, and nobody's id."""
    request = httpx.Request("GET", ADDRESS)
    request.url = QuietUrl(request.url, "read peer card")

    shown = [str(request.url), repr(request.url), repr(request)]

    for text in shown:
        assert "https://honcho.test:8443/ (read peer card)" in text


def test_its_parts_are_those_of_the_address() -> None:
    """They are what is sent."""
    url = QuietUrl(httpx.URL(ADDRESS), "read peer card")

    assert b"/base/v3/workspaces/deerflow-u-ada?page=2" == url.raw_path
    assert ("https", "honcho.test", 8443) == (url.scheme, url.host, url.port)
