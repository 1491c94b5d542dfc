"""Others can hold their own implementations to the contracts, with nothing but the package."""

from __future__ import annotations

import pytest

CONFTEST = 'pytest_plugins = ["honcho_memory.testing.fixtures"]'
OUTBOXES = '''
import pytest

from honcho_memory.adapters.in_memory import InMemoryOutbox
from honcho_memory.testing import MakeOutbox, OutboxContract


class Forgetful(InMemoryOutbox):
    """Takes everything for new."""

    def known(self, lane, keys):
        return set()


class TestGood(OutboxContract):
    @pytest.fixture
    def make_outbox(self) -> MakeOutbox:
        return InMemoryOutbox


class TestForgetful(OutboxContract):
    @pytest.fixture
    def make_outbox(self) -> MakeOutbox:
        return Forgetful
'''
SERVER = """
from honcho_memory import open_memory


def test_what_is_said_is_stored(honcho_server):
    with open_memory({"base_url": honcho_server.url}) as memory:
        memory.remember("t", [{"role": "user", "id": "m1", "content": "Hello"}], user_id="ada")
    (workspace,) = honcho_server.state.workspaces()
    (session,) = honcho_server.state.sessions(workspace)
    assert ["Hello"] == [each.content for each in honcho_server.state.messages(workspace, session)]
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Somebody else's project."""
    pytester.makeconftest(CONFTEST)
    return pytester


def test_a_contract_tells_good_from_bad(project: pytest.Pytester) -> None:
    """An outbox that keeps it passes; what one does not keep is said, values included."""
    project.makepyfile(OUTBOXES)

    good = project.runpytest_subprocess("-k", "TestGood", "-p", "no:cacheprovider").parseoutcomes()
    bad = project.runpytest_subprocess("-k", "TestForgetful", "-p", "no:cacheprovider")

    assert good["passed"] > 50
    assert "failed" not in good
    assert bad.parseoutcomes()["failed"] > 0
    bad.stdout.fnmatch_lines(["E*assert*==*"])


def test_the_strict_server_is_a_fixture(project: pytest.Pytester) -> None:
    """A Honcho for one test, over a socket."""
    project.makepyfile(SERVER)

    project.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
