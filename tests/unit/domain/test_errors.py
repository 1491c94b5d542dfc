"""What of an error may be logged."""

from __future__ import annotations

import pytest

from honcho_memory.domain.errors import HonchoRejected, NoUser, loggable


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (HonchoRejected("it answered 422", said="Ada is unknown"), "it answered 422"),
        (HonchoRejected("it answered 422"), "it answered 422"),
        (NoUser("there is no user"), "there is no user"),
        (ValueError("Ada"), "ValueError"),
    ],
)
def test_a_line_of_the_log_is_in_our_own_words(error: Exception, line: str) -> None:
    """Neither a server's nor a foreign error's text gets there."""
    assert line == loggable(error)


def test_who_handles_an_error_reads_all_of_it() -> None:
    """What the server said is the part that helps most."""
    assert "it answered 422: too long" == str(HonchoRejected("it answered 422", said="too long"))
