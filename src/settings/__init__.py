"""Every setting: its key, its default, what it may be."""

from __future__ import annotations

from honcho_memory.settings.model import Delivery, Settings
from honcho_memory.settings.values import Allowed

__all__ = ["Allowed", "Delivery", "Settings"]
