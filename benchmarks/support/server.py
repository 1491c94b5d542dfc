"""The tests' strict Honcho server, in a process of its own on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVING = Path(__file__).with_name("serving.py")
TESTS_SUPPORT = Path(__file__).parents[2] / "tests" / "support"


@contextmanager
def honcho_server(*, pause: float = 0.0) -> Iterator[str]:
    """The URL of a server that holds nothing yet and answers after so many seconds."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS_SUPPORT)}
    command = [sys.executable, str(SERVING), str(pause)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
