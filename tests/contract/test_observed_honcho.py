"""A Honcho whose requests are observed is still one."""

from __future__ import annotations

import time

import pytest

from honcho_memory.adapters.otel import Telemetry
from honcho_memory.ports.honcho import Honcho
from honcho_memory.testing.honcho_contract import HonchoContract
from honcho_memory.testing.management_contract import ManagedOutside, ManagementContract

from .test_in_memory_honcho import InMemoryOutside


class ObservedOutside:
    """The Honcho in memory, reached through what observes it."""

    def __init__(self) -> None:
        inside = InMemoryOutside()
        self.honcho: Honcho = Telemetry().honcho(inside.honcho, time)
        self.add_conclusion = inside.add_conclusion
        self.card = inside.card
        self.conclusions = inside.conclusions
        self.delete_session = inside.delete_session
        self.exists = inside.exists
        self.finish_deletions = inside.finish_deletions
        self.messages = inside.messages
        self.metadata = inside.metadata
        self.observes = inside.observes
        self.set_card = inside.set_card


class TestObservedHoncho(HonchoContract, ManagementContract):
    @pytest.fixture
    def outside(self) -> ManagedOutside:
        return ObservedOutside()
