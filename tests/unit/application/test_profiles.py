"""A user's profile, through the memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from honcho_memory import HonchoMemory, HonchoUnavailable, NoUser, open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock
from honcho_memory.domain.errors import InvalidProfile
from honcho_memory.domain.profile import Profile

PROFILE = Profile("Dr. Lovelace", ("engines",), ("Lives in London",))


@pytest.fixture
def memory(honcho: InMemoryHoncho, clock: ManualClock) -> Iterator[HonchoMemory]:
    """A memory on that Honcho."""
    with open_memory(honcho=honcho, clock=clock) as memory:
        yield memory


def test_a_profile_is_recalled_at_once(memory: HonchoMemory) -> None:
    """It replaces the one before, also in the answer that was still fresh."""
    memory.set_profile(Profile(lines=("Lives in Paris",)), user_id="ada")
    assert "Paris" in memory.recall("ada").text

    assert memory.set_profile(PROFILE, user_id="ada") == PROFILE

    assert memory.profile("ada") == PROFILE
    text = memory.recall("ada").text
    assert ("Dr. Lovelace" in text, "Paris" in text) == (True, False)


def test_looking_creates_nobody(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """A stranger's profile is empty."""
    assert Profile() == memory.profile("stranger")
    assert () == honcho.workspaces()


def test_a_bad_profile_changes_nothing(memory: HonchoMemory) -> None:
    """The earlier one is left as it is."""
    memory.set_profile(PROFILE, user_id="ada")

    with pytest.raises(InvalidProfile):
        memory.set_profile(Profile(form_of_address=""), user_id="ada")

    assert memory.profile("ada") == PROFILE


def test_clearing_takes_the_profile_too(memory: HonchoMemory) -> None:
    """It is part of what is known of a user."""
    memory.set_profile(PROFILE, user_id="ada")

    memory.clear("ada")

    assert Profile() == memory.profile("ada")


def test_an_outage_is_an_error(memory: HonchoMemory, honcho: InMemoryHoncho) -> None:
    """An empty profile would be a lie, and one that was not kept too."""
    memory.set_profile(PROFILE, user_id="ada")
    honcho.faults.fail(HonchoUnavailable("down", status=500), times=None)

    with pytest.raises(HonchoUnavailable):
        memory.set_profile(Profile(), user_id="ada")
    with pytest.raises(HonchoUnavailable):
        memory.profile("ada")


def test_nobody_has_no_profile(memory: HonchoMemory) -> None:
    """There is no user whose it could be."""
    with pytest.raises(NoUser):
        memory.profile(None)
    with pytest.raises(NoUser):
        memory.set_profile(PROFILE, user_id="")
