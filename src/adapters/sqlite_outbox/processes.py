"""Which process holds a lease, so that nobody takes over from one that only sleeps.

A process that is stopped, or that the machine has no time for, may be about to send when its
lease runs out, and sends when it goes on. A dead one sends nothing any more.
"""

from __future__ import annotations

import os
from pathlib import Path

_START_TIME = 19
"""Of the fields of `/proc/PID/stat` that follow the name of the program."""
_STATE = 0
_DEAD = {"X", "Z"}


def this_process() -> str:
    """A name for this process, like that of no other on this machine."""
    return _name(os.getpid())


def lives_elsewhere(name: str) -> bool:
    """Whether that is the name of another process, and one that is alive.

    Where that cannot be told it is taken for dead.
    """
    pid = name.partition("-")[0]
    if not pid.isdecimal() or name == this_process():
        return False
    return _is_alive(int(pid)) and name == _name(int(pid))


def _name(pid: int) -> str:
    """The id alone is given again when its process is dead; not so with the time of its start."""
    stat = _stat(pid)
    return f"{pid}-{stat[_START_TIME] if stat else ''}"


def _is_alive(pid: int) -> bool:
    if stat := _stat(pid):
        return stat[_STATE] not in _DEAD
    if os.name != "posix":  # where this would end it
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _stat(pid: int) -> list[str] | None:
    """What Linux says of a process; the name before it may hold anything, but no last bracket."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
