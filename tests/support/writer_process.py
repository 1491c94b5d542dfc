"""A process of a host, to be killed: it takes turns as it is told, and says which it has taken.

    python -m writer_process URL STORAGE_PATH TIMEOUT

A line `thread turn patience` on its standard input hands over the thread as it is after that
turn, and waits so many seconds for delivery. Once `remember` has returned it answers with
`thread turn taken`, or `refused` for the last. `flush patience` answers with `True` or `False`.
"""

from __future__ import annotations

import sys

from threads import transcript

from honcho_memory import HonchoMemory, MessageReader, open_memory

USER = "ada@example.org"


def main(url: str, storage_path: str, timeout: str) -> None:
    """Serve until the end of the input."""
    settings = {"base_url": url, "storage_path": storage_path, "timeout_seconds": timeout}
    with open_memory(settings, reader=MessageReader(id_suffix="__user")) as memory:
        for line in sys.stdin:
            print(answer(memory, *line.split()), flush=True)  # noqa: T201 - the protocol


def answer(memory: HonchoMemory, what: str, *details: str) -> str:
    """Do what a line says."""
    if what == "flush":
        return str(memory.flush(float(details[0])))
    turn, patience = details
    refused = memory.stats().refused
    memory.remember(what, transcript(what, int(turn)), user_id=USER)
    is_taken = memory.stats().refused == refused
    # Said before anything else, as whatever is said here has to outlive a kill.
    print(f"{what} {turn} {'taken' if is_taken else 'refused'}", flush=True)  # noqa: T201
    memory.flush(float(patience))
    return "ready"


if __name__ == "__main__":
    main(*sys.argv[1:])
