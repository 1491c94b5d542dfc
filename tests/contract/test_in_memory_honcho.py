"""The Honcho in memory keeps the contract of the port."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.testing.honcho_contract import HonchoContract, Seen
from honcho_memory.testing.management_contract import ManagedOutside, ManagementContract


class InMemoryOutside:
    """The inspection and set-up that the Honcho in memory offers beside the port."""

    def __init__(self) -> None:
        self.honcho = InMemoryHoncho()
        self.observes = self.honcho.observes
        self.set_card = self.honcho.set_card
        self.add_conclusion = self.honcho.add_conclusion
        self.delete_session = self.honcho.delete_session
        self.finish_deletions = self.honcho.finish_deletions
        self.card = self.honcho.card
        self.metadata = self.honcho.metadata

    def messages(self, workspace: str, session: str) -> Sequence[Seen]:
        return [
            Seen(each.author, each.content, each.created_at, each.metadata)
            for each in self.honcho.messages(workspace, session)
        ]

    def conclusions(self, workspace: str) -> Sequence[tuple[str, str, str]]:
        return [
            (each.observer, each.observed, each.content)
            for each in self.honcho.conclusions(workspace)
        ]

    def exists(self, workspace: str) -> bool:
        return workspace in self.honcho.workspaces()


class TestInMemoryHoncho(HonchoContract, ManagementContract):
    @pytest.fixture
    def outside(self) -> ManagedOutside:
        return InMemoryOutside()
