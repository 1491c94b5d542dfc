"""A user's conclusions and their ledger, as Honcho keeps them."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.application import fact_store
from honcho_memory.application.fact_store import FactStore, changing
from honcho_memory.application.requests import Requests
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.messages import Conclusion
from honcho_memory.ports.management import ConclusionPage

ADA, BOB = User("ws", "ada"), User("ws", "bob")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Shuffling(InMemoryHoncho):
    """Lists four conclusions on pages of two, the order of which is another each time."""

    orders = iter(["abac", "abcd"])

    def list_conclusions(
        self,
        workspace: str,
        observed: str,
        *,
        observer: str | None = None,
        page: int = 1,
        timeout: float,
    ) -> ConclusionPage:
        """See `MemoryManagement.list_conclusions`."""
        if page == 1:
            self.order = next(self.orders, "aaaa")
        ids = self.order[2 * page - 2 : 2 * page]
        items = tuple(Conclusion(each, each, "ada", None, NOON) for each in ids)
        return ConclusionPage(items, has_more=page == 1, total=4)


def test_a_list_whose_pages_do_not_fit_together_is_read_again(requests: Requests) -> None:
    """What one page repeats another lacks."""
    store = FactStore(Shuffling(), requests, Identities())

    found = store.conclusions(ADA, "ada", lambda: 1.0)

    assert set("abcd") == {conclusion.id for conclusion in found}


def test_a_list_that_never_fits_together_is_not_read_for_ever(requests: Requests) -> None:
    """A server may repeat itself always."""
    honcho = Shuffling()
    honcho.orders = iter([])

    found = FactStore(honcho, requests, Identities()).conclusions(ADA, "ada", lambda: 1.0)

    assert ["a"] == [conclusion.id for conclusion in found]


def test_only_some_users_are_remembered(
    honcho: InMemoryHoncho, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of whom something is known; one who is forgotten costs a question."""
    monkeypatch.setattr(fact_store, "REMEMBERED_USERS", 1)
    store = FactStore(honcho, requests, Identities())
    for user in (ADA, BOB):
        honcho.add_conclusion(user.workspace, user.peer, "likes tea")
        assert store.exists(user, lambda: 1.0)
    honcho.forget_requests()

    assert store.exists(BOB, lambda: 1.0)
    assert [] == honcho.requests
    assert store.exists(ADA, lambda: 1.0)
    assert 1 == len(honcho.requests)


def test_a_fork_holds_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever held it is not in the child."""
    taken = threading.Event()
    done = threading.Event()

    def hold() -> None:
        with changing(ADA):
            taken.set()
            done.wait()

    threading.Thread(target=hold, daemon=True).start()
    taken.wait()
    parent = os.getpid()
    try:
        assert not changing(ADA).acquire(blocking=False)
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert changing(ADA).acquire(blocking=False)
    finally:
        done.set()
        monkeypatch.setattr(os, "getpid", lambda: parent)
        assert changing(ADA)
