"""How a command says that it cannot."""

from __future__ import annotations

from typing import NoReturn

import typer
from rich.console import Console

from honcho_memory.domain.errors import HonchoMemoryError


def fail(error: HonchoMemoryError) -> NoReturn:
    """Say why, in one line without a traceback, and end with exit code 1."""
    console = Console(stderr=True)
    console.print(f"honcho-memory: {error}", style="red", markup=False, highlight=False)
    raise typer.Exit(1)
