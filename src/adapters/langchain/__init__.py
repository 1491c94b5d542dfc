"""Memory for agents that are built with LangChain's `create_agent`; the extra `langchain`."""

from honcho_memory.adapters.langchain.middleware import HonchoMemoryMiddleware
from honcho_memory.adapters.langchain.snapshots import DEFAULT_MARKER
from honcho_memory.adapters.langchain.tools import memory_tools

__all__ = ["DEFAULT_MARKER", "HonchoMemoryMiddleware", "memory_tools"]
