"""The command `honcho-memory`; the extra `cli` brings what it needs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command."""
    try:
        from honcho_memory.cli.app import app  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("honcho_memory"):
            raise
        sys.exit(f"honcho-memory: {error.name} is missing: pip install 'honcho-memory[cli]'")
    app()
