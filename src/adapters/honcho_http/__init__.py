"""A Honcho v3 server over HTTP, by httpx: `HttpHoncho` is the port, `open_client` its client."""

from __future__ import annotations

from honcho_memory.adapters.honcho_http.client import open_client
from honcho_memory.adapters.honcho_http.honcho import HttpHoncho

__all__ = ["HttpHoncho", "open_client"]
