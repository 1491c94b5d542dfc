"""Honcho and the outbox kept in memory, for tests and demos."""

from honcho_memory.adapters.in_memory.clock import ManualClock
from honcho_memory.adapters.in_memory.honcho import InMemoryHoncho
from honcho_memory.adapters.in_memory.outbox import InMemoryOutbox

__all__ = ["InMemoryHoncho", "InMemoryOutbox", "ManualClock"]
