"""A memory behind HTTP: a FastAPI router for a host's own application; needs `[http]`."""

from honcho_memory.adapters.http_api.router import memory_router

__all__ = ["memory_router"]
