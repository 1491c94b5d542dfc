"""DeerFlow as a host: what it calls on a memory backend, from where, and what it makes of it."""

from deerflow_host.factory import make_manager, resolve
from deerflow_host.gateway import Gateway, Response
from deerflow_host.host import Host, RunStopped
from deerflow_host.messages import Message, ai, human, system, tool
from deerflow_host.thread import Thread
from deerflow_host.tools import MemoryTools

__all__ = [
    "Gateway",
    "Host",
    "MemoryTools",
    "Message",
    "Response",
    "RunStopped",
    "Thread",
    "ai",
    "human",
    "make_manager",
    "resolve",
    "system",
    "tool",
]
