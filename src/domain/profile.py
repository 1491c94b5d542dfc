"""What a user wants to be known by: a form of address, interests, and free lines.

It is kept as the user's peer card, of which Honcho knows only lines. Honcho may write lines of
its own into a card; they are free lines here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from honcho_memory.domain.errors import InvalidProfile
from honcho_memory.domain.text import defuse_control_tokens, repair

FORM_OF_ADDRESS = "Form of address: "
INTEREST = "Interest: "
MOST_LINES = 100
LONGEST_LINE = 500
"""In characters; a card goes before a model whole."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a user wants to be known by.

    Attributes:
        form_of_address: How the user wants to be addressed.
        interests: What the user likes to hear of.
        lines: Whatever else.
    """

    form_of_address: str | None = None
    interests: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def read_card(card: Iterable[str]) -> Profile:
    """The profile that a peer card tells; any card is one."""
    form_of_address: str | None = None
    interests: list[str] = []
    lines: list[str] = []
    for line in map(repair, card):
        if form_of_address is None and line.startswith(FORM_OF_ADDRESS):
            form_of_address = line.removeprefix(FORM_OF_ADDRESS)
        elif line.startswith(INTEREST):
            interests.append(line.removeprefix(INTEREST))
        else:
            lines.append(line)
    return Profile(form_of_address, tuple(interests), tuple(lines))


def to_card(profile: Profile) -> tuple[str, ...]:
    """The lines of the peer card that tells a profile.

    Raises:
        InvalidProfile: Something in it is no single line of 1 to `LONGEST_LINE` characters, or
            there are more than `MOST_LINES`.
    """
    card: list[str] = []
    if profile.form_of_address is not None:
        card.append(FORM_OF_ADDRESS + _line("form_of_address", profile.form_of_address))
    card += [INTEREST + line for line in _lines("interests", profile.interests)]
    card += _lines("lines", profile.lines)
    if len(card) > MOST_LINES:
        raise InvalidProfile(f"a profile may have {MOST_LINES} lines, not {len(card)}")
    return tuple(card)


def _lines(name: str, values: Sequence[object]) -> list[str]:
    return [_line(f"{name}[{place}]", value) for place, value in enumerate(values)]


def _line(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidProfile(f"{name} must be text, not {type(value).__name__}")
    line = defuse_control_tokens(repair(value)).strip()
    if not line:
        raise InvalidProfile(f"{name} must not be empty")
    if len(line.splitlines()) > 1:
        raise InvalidProfile(f"{name} must be a single line")
    if len(line) > LONGEST_LINE:
        raise InvalidProfile(f"{name} may have {LONGEST_LINE} characters, not {len(line)}")
    return line
