"""Print the oldest version of each dependency that `pyproject.toml` allows, as constraints."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def constraints() -> list[str]:
    """Of what users install; what tests alone need may be newer."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = {*project["dependencies"]}.union(
        *(extras[name] for name in extras if name != "testing")
    )
    return sorted(each.replace(">=", "==") for each in needed)


if __name__ == "__main__":
    sys.stdout.writelines(f"{each}\n" for each in constraints())
