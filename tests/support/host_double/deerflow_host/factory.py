"""From `memory.manager_class` to a manager."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from deerflow.agents.memory.manager import MemoryManager


def resolve(manager_class: str, backends: Path | None = None) -> type[MemoryManager]:
    """Find a backend's class.

    Args:
        manager_class: The name of a folder of `backends` whose package has a `MANAGER_CLASS`,
            or `pkg.mod:Cls`, or `pkg.mod.Cls`.
        backends: Where backends are dropped in.

    Raises:
        ValueError: It names no backend.
    """
    if backends is not None and (backends / manager_class / "__init__.py").is_file():
        found: object = _load_folder(backends / manager_class).MANAGER_CLASS
    else:
        module, _, name = manager_class.replace(":", ".").rpartition(".")
        found = getattr(importlib.import_module(module), name, None) if module else None
    if isinstance(found, type) and issubclass(found, MemoryManager):
        return found
    raise ValueError(f"memory.manager_class={manager_class!r} names no backend")


def _load_folder(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"dropped_in_{folder.name}", folder / "__init__.py"
    )
    if spec is None or spec.loader is None:
        raise ValueError(f"{folder} is no package")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_manager(
    manager: type[MemoryManager],
    backend_config: Mapping[str, Any] | None,
    *,
    storage_path: Path,
    mode: Any = "middleware",
    **hooks: Any,
) -> MemoryManager:
    """Build the manager as the factory does: a writable folder in the config, hooks beside it."""
    config = {"storage_path": str(storage_path), **(backend_config or {})}
    return manager.from_config(
        config,
        mode=mode,
        callbacks=None,
        trace_context_manager=nullcontext,
        host_llm_factory=lambda: None,
        extraction_callback=print,
        **hooks,
    )
