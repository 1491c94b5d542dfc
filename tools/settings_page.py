"""Write `docs/settings.md` from the settings themselves; `make docs` does it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from honcho_memory import Settings

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
HEAD = """\
# Settings

<!-- Made by `make docs` from src/settings/model.py: change the descriptions there. -->

A mapping for `open_memory`, and with DeerFlow `memory.backend_config`. All are optional; a null
means the default, and a dot a nested mapping. A wrong one is refused when the memory is opened,
with a message that names it; an unknown one is ignored with a warning.

| Setting | Default | |
|---|---|---|
"""


def page() -> str:
    """The page as it should be."""
    return HEAD + "".join(f"{row}\n" for row in rows(Settings))


def rows(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The rows of the table."""
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            yield from rows(type(default), f"{prefix}{name}.")
        else:
            yield f"| `{prefix}{name}` | {_shown(default)} | {field.description} |"


def _shown(default: object) -> str:
    if default is None:
        return ""
    if default == ():
        return "`[]`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
