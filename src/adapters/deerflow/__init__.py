"""DeerFlow's memory backend.

In DeerFlow's configuration, `memory.manager_class` is either
`honcho_memory.adapters.deerflow:HonchoMemoryManager` or the name of a folder under DeerFlow's
`backends/` whose `__init__.py` imports `MANAGER_CLASS` from here.
"""

from honcho_memory.adapters.deerflow.manager import HonchoMemoryManager

__all__ = ["MANAGER_CLASS", "HonchoMemoryManager"]

MANAGER_CLASS = HonchoMemoryManager
