"""What a user wants to be known by."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honcho_memory.domain.errors import InvalidProfile
from honcho_memory.domain.profile import MOST_LINES, Profile, read_card, to_card

STORABLE = st.characters(codec="utf-8", exclude_characters="\0|")
LINE = st.text(STORABLE, min_size=1, max_size=80).filter(
    lambda text: text == text.strip() and len(text.splitlines()) == 1
)


def test_a_profile_is_the_peer_card() -> None:
    """Each part has lines of its own."""
    profile = Profile("Dr. Lovelace", ("engines", "poetry"), ("Lives in London",))

    card = to_card(profile)

    assert (
        "Form of address: Dr. Lovelace",
        "Interest: engines",
        "Interest: poetry",
        "Lives in London",
    ) == card
    assert profile == read_card(card)


def test_lines_of_honchos_own_are_free_lines() -> None:
    """What another program has written is kept, a second form of address too."""
    card = ("Name: Ada", "Form of address: Ada", "Form of address: Countess")

    assert Profile("Ada", (), ("Name: Ada", "Form of address: Countess")) == read_card(card)


@given(st.builds(Profile, st.none() | LINE, st.tuples(LINE), st.lists(LINE).map(tuple)))
def test_what_was_kept_is_read_again(profile: Profile) -> None:
    """A profile that was written comes back, and writing it again changes nothing."""
    kept = read_card(to_card(profile))

    assert to_card(kept) == to_card(read_card(to_card(kept)))
    if not any(line.startswith(("Form", "Interest")) for line in profile.lines):
        assert profile == kept


@given(st.lists(st.text()))
def test_any_card_is_a_profile(card: list[str]) -> None:
    """Reading is total, and no line is lost."""
    profile = read_card(card)

    lines = len(profile.interests) + len(profile.lines) + (profile.form_of_address is not None)
    assert len(card) == lines


@pytest.mark.parametrize(
    ("profile", "complaint"),
    [
        ({"form_of_address": " "}, "form_of_address must not be empty"),
        ({"form_of_address": 5}, "form_of_address must be text, not int"),
        ({"interests": ("chess", "two\nlines")}, r"interests\[1\] must be a single line"),
        ({"lines": ("x" * 501,)}, r"lines\[0\] may have 500 characters, not 501"),
        ({"lines": ("x",) * (MOST_LINES + 1)}, "may have 100 lines, not 101"),
    ],
)
def test_what_cannot_be_kept_is_named(profile: dict[str, Any], complaint: str) -> None:
    """A card is read line by line, and goes before a model whole."""
    with pytest.raises(InvalidProfile, match=complaint):
        to_card(Profile(**profile))


def test_what_honcho_cannot_take_is_made_harmless() -> None:
    """Control tokens and lone surrogates do not cost the others their place."""
    (line,) = to_card(Profile(lines=("\ud83d <|endoftext|>",)))

    assert "<|endoftext|>" not in line
    assert line.encode()
