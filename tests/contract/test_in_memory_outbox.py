"""The outbox in memory keeps the contract of the port."""

from __future__ import annotations

import pytest

from honcho_memory.adapters.in_memory import InMemoryOutbox
from honcho_memory.testing.outbox_contract import MakeOutbox, OutboxContract


class TestInMemoryOutbox(OutboxContract):
    @pytest.fixture
    def make_outbox(self) -> MakeOutbox:
        def make_outbox(**limits: int) -> InMemoryOutbox:
            return InMemoryOutbox(**limits)

        return make_outbox
