"""The outbox in SQLite keeps the contract of the port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.ports.outbox import Outbox
from honcho_memory.testing.outbox_contract import MakeOutbox, OutboxContract


class TestSqliteOutbox(OutboxContract):
    @pytest.fixture
    def open_outbox(self) -> Iterator[Callable[..., SqliteOutbox]]:
        """Make outboxes that are closed when the test is over."""
        opened: list[SqliteOutbox] = []

        def open_outbox(path: Path, **limits: int) -> SqliteOutbox:
            opened.append(SqliteOutbox(path, **limits))
            return opened[-1]

        yield open_outbox
        for outbox in opened:
            outbox.close()

    @pytest.fixture
    def make_outbox(self, open_outbox: Callable[..., SqliteOutbox], tmp_path: Path) -> MakeOutbox:
        numbers = count()

        def make_outbox(**limits: int) -> Outbox:
            return open_outbox(tmp_path / f"outbox-{next(numbers)}.db", **limits)

        return make_outbox

    @pytest.fixture
    def outbox(self, open_outbox: Callable[..., SqliteOutbox], tmp_path: Path) -> Outbox:
        return open_outbox(tmp_path / "shared.db")

    @pytest.fixture
    def another(self, open_outbox: Callable[..., SqliteOutbox], tmp_path: Path) -> Outbox:
        return open_outbox(tmp_path / "shared.db")
