"""Run the strict server as a process of its own; the first line it prints is its URL."""

from __future__ import annotations

import argparse

from honcho_memory.testing.strict_honcho.server import listening_socket, serve, url_of
from honcho_memory.testing.strict_honcho.storage import Storage


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(
        prog="python -m honcho_memory.testing.strict_honcho", description=__doc__
    )
    parser.add_argument("--port", type=int, default=0, help="0 for any that is free")
    parser.add_argument(
        "--finish-deletions",
        action="store_true",
        help="carry deletions out at once, as nobody can tell this process when",
    )
    options = parser.parse_args()
    socket = listening_socket(options.port)
    print(url_of(socket), flush=True)  # noqa: T201 - what the caller waits for
    serve(Storage(finish_deletions_at_once=options.finish_deletions), socket)


if __name__ == "__main__":
    main()
