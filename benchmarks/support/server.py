"""The tests' strict Honcho server, in a process of its own on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

SERVING = Path(__file__).with_name("serving.py")
TESTS_SUPPORT = Path(__file__).parents[2] / "tests" / "support"


@contextmanager
def honcho_server(*, pause: float = 0.0) -> Generator[str]:
    """The URL of a server that holds nothing yet and answers after so many seconds."""
    with honcho_doors([0], pause=pause) as (url,):
        yield url


@contextmanager
def honcho_doors(ports: Sequence[int], *, pause: float = 0.0) -> Generator[Sequence[str]]:
    """The URLs of one server that holds nothing yet and listens on several ports; 0 is any.

    It counts what comes through each door, so that nobody has to count for himself.
    """
    environment = {**os.environ, "PYTHONPATH": str(TESTS_SUPPORT)}
    command = [sys.executable, str(SERVING), str(pause), *map(str, ports)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()
        finally:
            # A server that dies says goodbye to nobody; one that is told to end would.
            process.kill()


def port_of(url: str) -> int:
    """The port that a URL names."""
    port = urlsplit(url).port
    assert port is not None
    return port
