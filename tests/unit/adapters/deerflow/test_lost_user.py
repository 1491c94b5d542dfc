"""The user whom DeerFlow names when it does not know who it is."""

from __future__ import annotations

import pytest

from honcho_memory.adapters.deerflow.lost_user import LostUser
from honcho_memory.settings import Settings


def test_it_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """The warning says what to set; every turn would be too often."""
    lost_user = LostUser(Settings())

    for user_id in ("ada", None, 5, "default", "default"):
        lost_user.look_out(user_id)

    (record,) = caplog.records
    assert "anonymous_user_ids: [default]" in record.getMessage()


def test_an_operator_who_has_decided_is_not_warned(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever names anonymous users has thought about it."""
    lost_user = LostUser(Settings(anonymous_user_ids=("nobody",)))

    lost_user.look_out("default")

    assert [] == caplog.records
