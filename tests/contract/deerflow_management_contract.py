"""DeerFlow's settings page, memory tools, HTTP API and chat commands, with this backend."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from deerflow.agents.memory.manager import MemoryManagerError
from deerflow_host import Gateway, Host, MemoryTools, Thread, human
from deerflow_host.document import Document

import honcho_memory
from honcho_memory.adapters.deerflow import HonchoMemoryManager
from honcho_memory.testing.strict_honcho import RunningServer

from .deerflow_suite import (
    FAIL_CLOSED,
    NOBODY,
    USER,
    BrokenHoncho,
    DeerFlowSuite,
    Make,
    add,
    delivered,
    peer,
    run,
    stored,
    turn,
    workspace,
)

OTHER = "ben@example.org"
STRANGER = "stranger"
NO_FACT = "no-such-fact"

DEFAULT_MEMORY: dict[str, Any] = {
    "version": "1.0",
    "lastUpdated": "2026-11-30T10:00:00.123456Z",
    "user": {
        "workContext": {"summary": "Runs a bakery.", "updatedAt": "2026-11-30T10:00:00Z"},
        "personalContext": {"summary": "", "updatedAt": ""},
    },
    "history": {},
    "facts": [
        {
            "id": "fact_1",
            "content": "Bakes rye bread",
            "category": "behavior",
            "confidence": 0.9,
            "createdAt": "2026-11-30T10:00:00Z",
            "source": "thread-1",
        },
        {"id": "fact_2", "content": "  "},
    ],
}

Call = Callable[[HonchoMemoryManager, str | None], Any]
Ask = Callable[[Gateway], Coroutine[Any, Any, Any]]

WRITES: dict[str, Call] = {
    "create_fact": lambda manager, user: manager.create_fact("Cycles", user_id=user),
    "update_fact": lambda manager, user: manager.update_fact(NO_FACT, "Walks", user_id=user),
    "delete_fact": lambda manager, user: manager.delete_fact(NO_FACT, user_id=user),
    "import_memory": lambda manager, user: manager.import_memory(DEFAULT_MEMORY, user_id=user),
    "export_memory": lambda manager, user: manager.export_memory(user_id=user),
    "clear_memory": lambda manager, user: manager.clear_memory(user_id=user),
    "delete_memory": lambda manager, user: manager.delete_memory(user_id=user),
}
READS: dict[str, Call] = {
    "get_memory": lambda manager, user: manager.get_memory(user_id=user),
    "reload_memory": lambda manager, user: manager.reload_memory(user_id=user),
}

OVER_HTTP: list[tuple[Ask, int]] = [
    (lambda gateway: gateway.create_fact(content=" "), 400),
    (lambda gateway: gateway.create_fact(content="x" * 65_536), 400),
    (lambda gateway: gateway.create_fact(content="Cycles", confidence=1.1), 400),
    (lambda gateway: gateway.create_fact(content="Cycles", confidence=float("nan")), 400),
    (lambda gateway: gateway.create_fact(content=" likes TEA "), 409),
    (lambda gateway: gateway.update_fact(NO_FACT, content="Cycles"), 404),
    (lambda gateway: gateway.delete_fact(NO_FACT), 404),
    (lambda gateway: gateway.delete_fact("a/b?c#\ud83d"), 404),
    (lambda gateway: gateway.import_memory({"facts": "none"}), 500),
]

PLACES: dict[str, Mapping[str, Any]] = {
    "a workspace each": {},
    "one workspace": {"workspace_overrides": {USER: "team", OTHER: "team"}},
    "one in a workspace of its own": {"workspace_overrides": {USER: "team"}},
    "one in the workspace of the other": {"workspace_overrides": {OTHER: workspace(USER)}},
}


def contents(document: Mapping[str, Any]) -> set[str]:
    """What the facts of a document say."""
    return {fact["content"] for fact in document["facts"]}


def known(document: Mapping[str, Any]) -> set[tuple[str, str, float]]:
    """The facts of a document, but for ids and times."""
    return {(fact["content"], fact["category"], fact["confidence"]) for fact in document["facts"]}


def fact_id(manager: HonchoMemoryManager, content: str, *, user: str = USER) -> str:
    """Add a fact."""
    _, new = manager.create_fact(content, "preference", 0.9, user_id=user)
    assert new is not None
    return new


class DeerFlowManagementContract(DeerFlowSuite):
    """Facts, document, import, export and clearing; who inherits it says under which DeerFlow."""

    async def test_the_settings_page_manages_facts(self, make: Make) -> None:
        """Every answer is the new document, and a fact keeps its id."""
        gateway = Gateway(make(), user_id=USER)

        created = await gateway.create_fact(
            content=" Likes tea ", category="preference", confidence=0.9
        )
        (fact,) = created.body["facts"]
        updated = await gateway.update_fact(fact["id"], content="Likes mate")
        read = await gateway.reload()
        deleted = await gateway.delete_fact(fact["id"])

        assert [200] * 4 == [each.status for each in (created, updated, read, deleted)]
        assert {("Likes tea", "preference", 0.9)} == known(created.body)
        assert "manual" == fact["source"]
        assert {("Likes mate", "preference", 0.9)} == known(updated.body)
        assert updated.body["facts"] == read.body["facts"]
        assert fact["id"] == read.body["facts"][0]["id"]
        assert [] == deleted.body["facts"]

    @pytest.mark.parametrize(("ask", "status"), OVER_HTTP)
    async def test_what_cannot_be_done_over_http_says_so(
        self, make: Make, ask: Ask, status: int
    ) -> None:
        """It has the status that DeerFlow keeps for it, and changes nothing."""
        manager = make()
        fact_id(manager, "Likes tea")
        gateway = Gateway(manager, user_id=USER)

        answer = await ask(gateway)

        assert status == answer.status
        assert {"Likes tea"} == contents((await gateway.reload()).body)

    async def test_a_model_manages_facts(self, make: Make) -> None:
        """In tool mode the four tools work together, by the ids that a search gives."""
        host = Host(make(mode="tool"), user_id=USER)
        await run(host, Thread(), 1)
        tools = MemoryTools(host.manager, user_id=USER, agent_name="cook")

        def use() -> None:
            added = tools.add("Cycles to work", category="behavior", confidence=0.9)
            assert {"error": "Duplicate fact"} == tools.add("cycles to WORK ")
            (hit,) = tools.search("work", category="behavior")["results"]
            assert (added["fact_id"], "Cycles to work", 0.9) == (
                hit["id"],
                hit["content"],
                hit["confidence"],
            )
            assert "updated" == tools.update(hit["id"], content="Walks to work")["status"]
            (hit,) = tools.search("work", category="behavior")["results"]
            assert (added["fact_id"], "Walks to work") == (hit["id"], hit["content"])
            assert "deleted" == tools.delete(hit["id"])["status"]
            assert {"error": "Fact not found"} == tools.delete(hit["id"])
            assert {"error": "Fact not found"} == tools.update(NO_FACT, content="x")
            assert [] == tools.search("work", category="behavior")["results"]

        await asyncio.to_thread(use)

    def test_deleting_a_fact_leaves_what_was_said(
        self, make: Make, honcho_server: RunningServer
    ) -> None:
        """A fact is a conclusion; the message that it was drawn from is not touched."""
        manager = make()
        add(manager, "t", *turn(1))
        document = manager.get_memory(user_id=USER)
        (fact,) = document["facts"]

        manager.delete_fact(fact["id"], user_id=USER)

        assert "t" == fact["source"]
        assert 2 == len(stored(honcho_server, "t"))
        assert [] == manager.get_memory(user_id=USER)["facts"]

    def test_all_facts_are_in_the_document(self, make: Make) -> None:
        """However many pages the server makes of them."""
        manager = make()
        facts = [{"content": f"Fact {number}"} for number in range(250)]
        manager.import_memory({"facts": facts}, user_id=USER)

        document = manager.get_memory(user_id=USER)

        assert {f"Fact {number}" for number in range(250)} == contents(document)
        assert document["lastUpdated"] == max(fact["createdAt"] for fact in document["facts"])

    async def test_the_settings_page_imports_its_own_export(self, make: Make) -> None:
        """Export, clear, import and export give the same facts."""
        manager = make()
        gateway = Gateway(manager, user_id=USER)
        await manager.aadd("t", turn(1), user_id=USER)
        await asyncio.to_thread(manager.shutdown_flush, 60.0)
        await gateway.import_memory(DEFAULT_MEMORY)
        exported = await gateway.get()

        assert Document.model_validate(exported.body).can_be_imported()
        assert [] == (await gateway.clear()).body["facts"]
        imported = await gateway.import_memory(exported.body)
        again = await gateway.import_memory(exported.body)

        assert known(exported.body) == known(imported.body) == known(again.body)
        assert known(imported.body) == known(
            await asyncio.to_thread(manager.export_memory, user_id=USER)
        )

    def test_a_document_of_the_default_memory_is_taken_over(
        self, make: Make, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Facts and summaries become facts; what is none is logged by its place alone."""
        manager = make()

        document = manager.import_memory(DEFAULT_MEMORY, user_id=USER)

        assert {
            ("Bakes rye bread", "behavior", 0.9),
            ("Runs a bakery.", "workContext", 0.5),
        } == known(document)
        assert ["facts[1] could not be imported: the content of a fact must not be empty"] == [
            record.getMessage() for record in caplog.records if "imported" in record.getMessage()
        ]

    @pytest.mark.parametrize(
        "document", [None, [], "{}", {}, {"config": {}}, {"facts": {}}, {"facts": 5}]
    )
    def test_what_is_no_document_is_not_imported(self, make: Make, document: Any) -> None:
        """It is said what it is instead."""
        with pytest.raises(ValueError, match="memory document"):
            make().import_memory(document, user_id=USER)

    async def test_clearing_over_http(self, make: Make, honcho_server: RunningServer) -> None:
        """Everything goes, and does not come back with the thread, which DeerFlow keeps."""
        manager = make()
        host, thread = Host(manager, user_id=USER), Thread()
        await run(host, thread, 1)
        gateway = Gateway(manager, user_id=USER)
        await gateway.create_fact(content="Cycles")

        cleared = await gateway.clear()
        again = await gateway.clear()
        honcho_server.finish_deletions()
        await run(host, thread, 2)

        assert [200, 200] == [cleared.status, again.status]
        assert Document.model_validate(cleared.body).can_be_imported()
        assert [[], []] == [cleared.body["facts"], again.body["facts"]]
        document = await asyncio.to_thread(manager.get_memory, user_id=USER)
        assert ["question 2"] == [content.split(": ")[-1] for content in contents(document)]

    @pytest.mark.parametrize("clear", ["clear_memory", "delete_memory"])
    def test_the_memory_of_an_agent_cannot_be_cleared(self, make: Make, clear: str) -> None:
        """There is none: an unchanged document would look like success."""
        manager = make()
        fact_id(manager, "Likes tea")

        with pytest.raises(NotImplementedError, match="agent"):
            getattr(manager, clear)(user_id=USER, agent_name="cook")

        assert {"Likes tea"} == contents(manager.get_memory(user_id=USER))

    @pytest.mark.parametrize("nobody", NOBODY)
    @pytest.mark.parametrize("write", WRITES)
    def test_nobody_has_nothing_to_change(
        self, make: Make, honcho_server: RunningServer, write: str, nobody: str | None
    ) -> None:
        """What would look like success is an error, and nothing is asked."""
        manager = make()

        with pytest.raises(MemoryManagerError, match="there is no user"):
            WRITES[write](manager, nobody)

        assert [] == list(honcho_server.requests)

    @pytest.mark.parametrize("nobody", NOBODY)
    def test_the_document_of_nobody_is_empty(
        self, make: Make, honcho_server: RunningServer, nobody: str | None
    ) -> None:
        """It is whole all the same, and nothing is asked."""
        manager = make({"failure_policy": FAIL_CLOSED})

        for read in READS.values():
            document = Document.model_validate(read(manager, nobody))
            assert [] == document.facts
            assert document.can_be_imported()
        assert [] == list(honcho_server.requests)

    def test_a_stranger_is_not_created_by_looking(
        self, make: Make, honcho_server: RunningServer
    ) -> None:
        """A user of whom nothing is known has an empty memory; it can be cleared, and exported."""
        manager = make({"failure_policy": FAIL_CLOSED})
        calls = {**READS, "export_memory": WRITES["export_memory"]}

        assert [[]] * 3 == [call(manager, STRANGER)["facts"] for call in calls.values()]
        for call in ("update_fact", "delete_fact"):
            with pytest.raises(KeyError, match=NO_FACT):
                WRITES[call](manager, STRANGER)
        assert [] == list(honcho_server.state.workspaces())
        assert [] == manager.clear_memory(user_id=STRANGER)["facts"]
        assert {"Cycles"} == contents(manager.create_fact("Cycles", user_id=STRANGER)[0])

    @pytest.mark.parametrize("config", [{}, {"failure_policy": FAIL_CLOSED}])
    @pytest.mark.parametrize("write", WRITES)
    async def test_what_an_outage_prevents_is_an_error(
        self, make: Make, honcho_server: RunningServer, write: str, config: dict[str, Any]
    ) -> None:
        """The read policy is for reads: a change that did not happen is never a success."""
        manager = make(config)
        existing = await asyncio.to_thread(fact_id, manager, "Likes tea")
        honcho_server.faults.answer(503, times=None)
        gateway = Gateway(manager, user_id=USER)

        with pytest.raises(MemoryManagerError, match="cannot be"):
            await asyncio.to_thread(WRITES[write], manager, USER)
        answers = [
            await gateway.create_fact(content="Cycles"),
            await gateway.update_fact(existing, content="Cycles"),
            await gateway.delete_fact(existing),
            await gateway.import_memory(DEFAULT_MEMORY),
            await gateway.clear(),
        ]

        assert [500] * 5 == [answer.status for answer in answers]

    @pytest.mark.parametrize("read", READS)
    def test_an_outage_of_reads_is_for_the_policy(
        self, make: Make, honcho_server: RunningServer, read: str
    ) -> None:
        """Empty when open, an error when closed."""
        honcho_server.faults.answer(503, times=None)

        assert [] == READS[read](make(), USER)["facts"]
        with pytest.raises(MemoryManagerError, match="cannot be read"):
            READS[read](make({"failure_policy": FAIL_CLOSED}), USER)

    @pytest.mark.parametrize("write", WRITES)
    def test_a_bug_below_is_an_error_that_shows_nothing(self, make: Make, write: str) -> None:
        """Whatever goes wrong comes as the one error that DeerFlow knows."""
        manager = make({"delivery": "background"}, honcho=BrokenHoncho())

        with pytest.raises(MemoryManagerError, match=r"AttributeError|RuntimeError"):
            WRITES[write](manager, USER)

    def test_a_change_shows_at_once(self, make: Make) -> None:
        """Nothing that is kept of earlier answers outlives it."""
        manager = make()
        fact = fact_id(manager, "Likes tea")
        assert "Likes tea" in manager.get_context(USER)

        manager.update_fact(fact, "Likes mate", user_id=USER)
        updated = manager.get_context(USER)
        manager.clear_memory(user_id=USER)

        assert ("Likes mate" in updated, "Likes tea" in updated) == (True, False)
        assert "" == manager.get_context(USER)

    def test_facts_are_changed_from_many_threads(self, make: Make) -> None:
        """Two managers of one process too do not undo what the other did."""
        managers = [make(), make()]

        def use(number: int) -> None:
            manager = managers[number % 2]
            fact = fact_id(manager, f"Fact {number}")
            manager.update_fact(fact, f"Changed {number}", user_id=USER)
            with suppress(ValueError):
                manager.create_fact("The same", user_id=USER)

        with ThreadPoolExecutor(8) as executor:
            list(executor.map(use, range(24)))

        expected = {(f"Changed {number}", "preference", 0.9) for number in range(24)}
        facts = known(managers[0].reload_memory(user_id=USER))
        assert {*expected, ("The same", "context", 0.5)} == facts
        assert 25 == len(managers[1].reload_memory(user_id=USER)["facts"])

    async def test_everything_may_happen_at_once(
        self, make: Make, honcho_server: RunningServer
    ) -> None:
        """Runs on the event loop, settings pages in threads, and the loop is never blocked."""
        manager = make({"failure_policy": FAIL_CLOSED})
        users = [f"user-{number}" for number in range(6)]

        async def live(user: str) -> None:
            gateway = Gateway(manager, user_id=user)
            created = await gateway.create_fact(content=f"Fact of {user}", category=user)
            (fact,) = created.body["facts"]
            await asyncio.gather(
                manager.aadd("t", [human(f"Words of {user}", "h1")], user_id=user),
                manager.aget_context(user),
                manager.asearch("fact", user_id=user),
                gateway.update_fact(fact["id"], confidence=0.9),
                gateway.get(),
            )

        with blockbuster_ctx(honcho_memory):
            await asyncio.gather(*map(live, users))
            await delivered(manager)
            cleared = await Gateway(manager, user_id=users[0]).clear()
            kept = [await Gateway(manager, user_id=user).reload() for user in users[1:]]

        assert 200 == cleared.status
        for user, answer in zip(users[1:], kept, strict=True):
            assert (f"Fact of {user}", user, 0.9) in known(answer.body)
            assert 2 == len(answer.body["facts"])
            assert [(peer(user), f"Words of {user}")] == stored(honcho_server, "t", user=user)

    @pytest.mark.parametrize("thread_of_other", ["t", "another"])
    @pytest.mark.parametrize("place", PLACES)
    def test_nothing_that_one_does_concerns_the_other(
        self, make: Make, honcho_server: RunningServer, place: str, thread_of_other: str
    ) -> None:
        """Whether two users share a workspace, a thread, both or nothing.

        By default all that was said in a workspace is found by all whom the operator put there.
        """
        manager = make({**PLACES[place], "search_scope": "user"})
        add(manager, "t", human("Ada plays the cello.", "h1"))
        add(manager, thread_of_other, human("Ben plays chess.", "h2"), user=OTHER)
        fact = fact_id(manager, "Ada speaks French")
        fact_of_other = fact_id(manager, "Ben speaks Welsh", user=OTHER)
        before = self._all_of(manager, OTHER)
        assert "Ada" not in json.dumps(before)

        with pytest.raises(KeyError):
            manager.update_fact(fact_of_other, "Ada was here", user_id=USER)
        with pytest.raises(KeyError):
            manager.delete_fact(fact_of_other, user_id=USER)
        manager.update_fact(fact, "Ada speaks Basque", user_id=USER)
        manager.import_memory(DEFAULT_MEMORY, user_id=USER)
        assert "Ben" not in json.dumps(self._all_of(manager, USER))
        manager.delete_fact(fact, user_id=USER)
        manager.clear_memory(user_id=USER)
        honcho_server.finish_deletions()

        assert before == self._all_of(manager, OTHER)
        assert "Ada" not in json.dumps(manager.get_memory(user_id=USER))
        add(manager, "t", human("Ada plays the cello.", "h1"), human("Ada hums.", "h3"))
        document = manager.reload_memory(user_id=USER)
        assert ["Ada hums."] == [content.split(": ")[-1] for content in contents(document)]

    def _all_of(self, manager: HonchoMemoryManager, user: str) -> dict[str, Any]:
        """What a user can get to see."""
        document = manager.reload_memory(user_id=user)
        hits = manager.search("plays speaks", 100, user_id=user)
        return {
            "document": document,
            "hits": sorted(hits, key=lambda hit: str(hit["content"])),
            "text": manager.get_context(user),
        }
