from __future__ import annotations

import pytest

from honcho_memory.domain.policy import ReadPolicy, SearchScope


@pytest.mark.parametrize(
    ("expected", "spelling"),
    [(ReadPolicy.FAIL_OPEN, "fail_open"), (ReadPolicy.FAIL_CLOSED, "fail_closed")],
)
def test_a_read_policy_is_spelled_as_deerflow_spells_it(
    expected: ReadPolicy, spelling: str
) -> None:
    """DeerFlow reads the policy from the same configuration, so both know it by one name."""
    assert expected is ReadPolicy(spelling)


def test_a_read_policy_in_capitals_is_none() -> None:
    """DeerFlow knows lower case only, and the two must not disagree on what happens."""
    with pytest.raises(ValueError, match="FAIL_CLOSED"):
        ReadPolicy("FAIL_CLOSED")


@pytest.mark.parametrize(
    ("expected", "spelling"),
    [(SearchScope.WORKSPACE, "workspace"), (SearchScope.USER, "user")],
)
def test_a_search_looks_through_a_workspace_or_a_user(expected: SearchScope, spelling: str) -> None:
    """An operator says in one word whose messages a search may find."""
    assert expected is SearchScope(spelling)
