"""What every implementation of the Honcho port has to do for facts and clearing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pytest

from honcho_memory.domain.errors import HonchoNotFound, HonchoRejected, HonchoUnavailable
from honcho_memory.domain.messages import Conclusion
from honcho_memory.ports.honcho import Honcho
from honcho_memory.testing.honcho_contract import (
    OTHER,
    SESSION,
    TIMEOUT,
    USER,
    Call,
    Outside,
    add,
    message,
)

NOTHING_MUCH: dict[str, object] = {"k": {"a": 1}}


class ManagedOutside(Outside, Protocol):
    """A server whose conclusions, cards and metadata can be seen past the port too."""

    def conclusions(self, workspace: str) -> Sequence[tuple[str, str, str]]:
        """Observer, observed and content of each, oldest first."""
        ...

    def card(self, workspace: str, peer: str) -> Sequence[str]:
        """The lines of a peer's card."""
        ...

    def metadata(self, workspace: str, peer: str) -> Mapping[str, object] | None:
        """A peer's metadata; None for an unknown one."""
        ...


def create(honcho: Honcho, workspace: str, *contents: str) -> list[Conclusion]:
    return list(honcho.create_conclusions(workspace, USER, contents, timeout=TIMEOUT))


def listed(
    honcho: Honcho, workspace: str, *, peer: str = USER, observer: str | None = None
) -> list[Conclusion]:
    """What is on the first page of a list that has no other."""
    page = honcho.list_conclusions(workspace, peer, observer=observer, timeout=TIMEOUT)
    assert not page.has_more
    return list(page.items)


def said(conclusions: Sequence[Conclusion]) -> list[str]:
    return [each.content for each in conclusions]


def put(honcho: Honcho, workspace: str, metadata: Mapping[str, object], peer: str = USER) -> None:
    honcho.put_peer_metadata(workspace, peer, metadata, timeout=TIMEOUT)


def metadata_of(honcho: Honcho, workspace: str, peer: str = USER) -> dict[str, object]:
    return honcho.peer_metadata(workspace, peer, timeout=TIMEOUT)


def sessions_of(honcho: Honcho, workspace: str, peer: str = USER) -> list[str]:
    """What is on the first page of a list that has no other."""
    page = honcho.peer_sessions(workspace, peer, timeout=TIMEOUT)
    assert not page.has_more
    return list(page.items)


def peers_of(honcho: Honcho, workspace: str, session: str = SESSION) -> list[str]:
    return sorted(honcho.session_peers(workspace, session, timeout=TIMEOUT))


def nested(depth: int) -> dict[str, object]:
    """An object in an object, so many of them."""
    return {"k": nested(depth - 1)} if depth > 1 else {}


LOOKS: dict[str, Call] = {
    "list conclusions": listed,
    "list of one observer": lambda honcho, workspace: listed(honcho, workspace, observer=USER),
    "sessions": sessions_of,
    "peers": peers_of,
}
CHANGES: dict[str, Call] = {
    "create conclusions": lambda honcho, workspace: create(honcho, workspace, "Likes tea"),
    "delete a conclusion": lambda honcho, workspace: honcho.delete_conclusion(
        workspace, "c" * 21, timeout=TIMEOUT
    ),
    "metadata": metadata_of,
    "put metadata": lambda honcho, workspace: put(honcho, workspace, NOTHING_MUCH),
    "put a card": lambda honcho, workspace: honcho.put_peer_card(
        workspace, USER, ["Name: Alice"], timeout=TIMEOUT
    ),
}


class ManagementContract:
    """Inherit it beside `HonchoContract`, and let `outside` be a `ManagedOutside`."""

    # Conclusions

    def test_creates_conclusions(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """What is created is a peer's own conclusion, in the given order and in no session."""
        outside.set_card(workspace, USER, [])

        created = create(honcho, workspace, "Likes tea", "Gr\u00fc\u00dfe \U0001f600\n</memory>")

        assert ["Likes tea", "Gr\u00fc\u00dfe \U0001f600\n</memory>"] == said(created)
        assert [(USER, None)] * 2 == [(each.observer, each.session) for each in created]
        assert all(each.created_at.utcoffset() is not None for each in created)
        assert {(USER, USER, each.content) for each in created} == set(
            outside.conclusions(workspace)
        )

    def test_a_created_conclusion_is_known_at_once(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """It is listed as it was answered, and is part of what is known of the peer."""
        outside.set_card(workspace, USER, [])

        created = create(honcho, workspace, "Likes tea")

        assert created == listed(honcho, workspace)
        assert "Likes tea\n" in honcho.representation(
            workspace, USER, max_conclusions=25, timeout=TIMEOUT
        )

    def test_creates_twice_what_is_created_twice(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Conclusions are not deduplicated, and each has an id of its own."""
        outside.set_card(workspace, USER, [])

        created = create(honcho, workspace, "Likes tea", "Likes tea")
        created += create(honcho, workspace, "Likes tea")

        assert len({each.id for each in created}) == 3
        assert ["Likes tea"] * 3 == said(listed(honcho, workspace))

    def test_creates_a_hundred_conclusions(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """A batch of 100 conclusions is stored."""
        outside.set_card(workspace, USER, [])
        contents = [f"Fact {n}" for n in range(100)]

        assert contents == said(create(honcho, workspace, *contents))
        assert set(contents) == set(said(listed(honcho, workspace)))

    @pytest.mark.parametrize("count", [0, 101])
    def test_rejects_conclusions_in_a_wrong_number(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str, count: int
    ) -> None:
        """A batch of no or of more than 100 conclusions is refused, none in particular."""
        outside.set_card(workspace, USER, [])

        with pytest.raises(HonchoRejected) as caught:
            create(honcho, workspace, *["Likes tea"] * count)

        assert (422, {}) == (caught.value.status, caught.value.refused)
        assert [] == outside.conclusions(workspace)

    def test_takes_a_long_conclusion(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Of a conclusion characters are counted, not bytes."""
        outside.set_card(workspace, USER, [])
        content = "\U0001f600" * 1_000

        assert [content] == said(create(honcho, workspace, content))

    def test_rejects_conclusions_for_the_bad_ones(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """A bad conclusion refuses the batch, and every one is named with the reason."""
        outside.set_card(workspace, USER, [])

        with pytest.raises(HonchoRejected) as caught:
            create(honcho, workspace, "fine", "", "x" * 65_536, "fine", "<|endoftext|>", "fine")

        assert [1, 2, 4] == list(caught.value.refused)
        assert all(caught.value.refused.values())
        assert caught.value.status == 422
        assert [] == outside.conclusions(workspace)

    def test_rejects_a_conclusion_that_is_not_unicode(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Half a surrogate pair refuses the batch and is named."""
        outside.set_card(workspace, USER, [])

        with pytest.raises(HonchoRejected) as caught:
            create(honcho, workspace, "fine", "\ud83d")

        assert [1] == list(caught.value.refused)
        assert [] == outside.conclusions(workspace)

    def test_strips_nul_from_conclusions(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """NUL is left out of a conclusion, as the answer shows."""
        outside.set_card(workspace, USER, [])

        assert ["together"] == said(create(honcho, workspace, "to\0\0ge\0ther"))
        assert ["together"] == said(listed(honcho, workspace))

    def test_concludes_nothing_of_the_unknown(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """A peer that does not exist, in a workspace or without one, cannot have a conclusion."""
        with pytest.raises(HonchoNotFound):
            create(honcho, workspace, "Likes tea")
        assert not outside.exists(workspace)

        outside.set_card(workspace, OTHER, [])
        with pytest.raises(HonchoNotFound):
            create(honcho, workspace, "Likes tea")
        assert [] == outside.conclusions(workspace)

    def test_lists_the_newest_conclusion_first(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Conclusions are listed from the newest to the oldest, with their session if any."""
        add(honcho, workspace, message("a", "Hello", author=OTHER))
        outside.set_card(workspace, USER, [])
        outside.add_conclusion(workspace, USER, "Likes tea", SESSION)
        create(honcho, workspace, "Owns a boat")
        create(honcho, workspace, "Plays the piano")

        assert [("Plays the piano", None), ("Owns a boat", None), ("Likes tea", SESSION)] == [
            (each.content, each.session) for each in listed(honcho, workspace)
        ]

    def test_lists_what_observers_concluded(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Without an observer every one's conclusions about a peer are listed, else one's own."""
        outside.set_card(workspace, USER, [])
        outside.set_card(workspace, OTHER, [])
        outside.add_conclusion(workspace, USER, "Likes tea")
        outside.add_conclusion(workspace, USER, "Seems tired", observer=OTHER)
        outside.add_conclusion(workspace, OTHER, "Sells tea", observer=USER)

        assert [("Seems tired", OTHER), ("Likes tea", USER)] == [
            (each.content, each.observer) for each in listed(honcho, workspace)
        ]
        assert ["Likes tea"] == said(listed(honcho, workspace, observer=USER))
        assert ["Seems tired"] == said(listed(honcho, workspace, observer=OTHER))
        assert ["Sells tea"] == said(listed(honcho, workspace, peer=OTHER))
        assert [] == listed(honcho, workspace, peer=OTHER, observer=OTHER)

    def test_lists_conclusions_a_page_at_a_time(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """More than 100 conclusions come in pages, each of which says what follows."""
        outside.set_card(workspace, USER, [])
        for batch in range(2):
            create(honcho, workspace, *[f"{batch}: {n}" for n in range(100)])
        create(honcho, workspace, "newest")

        pages = [
            honcho.list_conclusions(workspace, USER, observer=USER, page=page, timeout=TIMEOUT)
            for page in (1, 2, 3, 4)
        ]

        assert [100, 100, 1, 0] == [len(page.items) for page in pages]
        assert [True, True, False, False] == [page.has_more for page in pages]
        assert pages[0].items[0].content == "newest"

    def test_lists_nothing_of_the_unknown(self, honcho: Honcho, workspace: str) -> None:
        """Nothing is concluded about an unknown peer, nor is anything in an unknown workspace."""
        assert [] == listed(honcho, workspace)

        add(honcho, workspace, message("a"))

        assert [] == listed(honcho, workspace, peer="nobody")
        assert [] == listed(honcho, workspace, observer="nobody")

    def test_deletes_a_conclusion(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """A conclusion that was deleted is gone, once, and no other is."""
        outside.set_card(workspace, USER, [])
        (kept, deleted) = create(honcho, workspace, "Likes tea", "Likes tea")

        honcho.delete_conclusion(workspace, deleted.id, timeout=TIMEOUT)

        assert [kept] == listed(honcho, workspace)
        with pytest.raises(HonchoNotFound):
            honcho.delete_conclusion(workspace, deleted.id, timeout=TIMEOUT)

    def test_deletes_what_another_observer_concluded(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Whoever drew a conclusion, it can be deleted."""
        outside.set_card(workspace, USER, [])
        outside.set_card(workspace, OTHER, [])
        outside.add_conclusion(workspace, USER, "Seems tired", observer=OTHER)
        (found,) = listed(honcho, workspace)

        honcho.delete_conclusion(workspace, found.id, timeout=TIMEOUT)

        assert [] == outside.conclusions(workspace)

    def test_deletes_conclusions_in_their_workspace(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """A conclusion cannot be deleted by way of another workspace, known or not."""
        another = f"{workspace}-2"
        outside.set_card(workspace, USER, [])
        (created,) = create(honcho, workspace, "Likes tea")

        with pytest.raises(HonchoNotFound):
            honcho.delete_conclusion(another, created.id, timeout=TIMEOUT)
        assert not outside.exists(another)
        outside.set_card(another, USER, [])
        with pytest.raises(HonchoNotFound):
            honcho.delete_conclusion(another, created.id, timeout=TIMEOUT)

        assert [created] == listed(honcho, workspace)

    # Metadata

    def test_puts_metadata(self, outside: ManagedOutside, honcho: Honcho, workspace: str) -> None:
        """Metadata is kept as it is, and creates the peer."""
        metadata: dict[str, object] = {
            "text": "Gr\u00fc\u00dfe \U0001f600",
            "list": [1, 0.5, None, True, {"deep": []}],
            "": {},
        }

        put(honcho, workspace, metadata)

        assert metadata == outside.metadata(workspace, USER)
        assert metadata == metadata_of(honcho, workspace)

    def test_metadata_replaces_metadata(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """What is put replaces all that was there, of this peer alone."""
        put(honcho, workspace, {"a": {"b": 1}, "c": 2})
        put(honcho, workspace, {"ours": True}, peer=OTHER)

        put(honcho, workspace, {"a": {"d": 3}})
        replaced = metadata_of(honcho, workspace)
        put(honcho, workspace, {})

        assert {"a": {"d": 3}} == replaced
        assert {} == metadata_of(honcho, workspace)
        assert {"ours": True} == outside.metadata(workspace, OTHER)

    def test_asking_for_metadata_creates_the_peer(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """An unknown peer has none, and is known from then on."""
        assert {} == metadata_of(honcho, workspace)

        assert {} == outside.metadata(workspace, USER)
        assert outside.metadata(workspace, OTHER) is None

    def test_metadata_outlives_everything_else(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Neither messages nor a card nor a configuration change a peer's metadata, or it them."""
        honcho.configure_peer(workspace, USER, observe_me=False, timeout=TIMEOUT)
        put(honcho, workspace, NOTHING_MUCH)
        add(honcho, workspace, message("a"))
        honcho.configure_peer(workspace, USER, observe_me=False, timeout=TIMEOUT)
        outside.set_card(workspace, USER, ["Name: Alice"])

        assert NOTHING_MUCH == metadata_of(honcho, workspace)
        assert outside.observes(workspace, USER) is False
        put(honcho, workspace, {})
        assert outside.observes(workspace, USER) is False
        assert ["Name: Alice"] == list(outside.card(workspace, USER))

    def test_strips_nul_from_metadata(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """NUL is left out of metadata, in names and values at any depth."""
        put(honcho, workspace, {"a\0": [{"b\0c": "d\0"}]})

        assert {"a": [{"bc": "d"}]} == outside.metadata(workspace, USER)

    def test_metadata_has_a_size(self, honcho: Honcho, workspace: str) -> None:
        """A hundred keys and five levels are taken."""
        for metadata in ({f"k{n}": n for n in range(100)}, nested(5)):
            put(honcho, workspace, metadata)

            assert metadata == metadata_of(honcho, workspace)

    @pytest.mark.parametrize(
        "metadata",
        [
            {f"k{n}": n for n in range(101)},
            nested(6),
            {"k": float("nan")},
            {"k": [float("inf")]},
            {"k": "\ud83d"},
            {"\ud83d": "v"},
            {"k": {1, 2}},
        ],
        ids=["keys", "depth", "nan", "inf", "surrogate", "surrogate name", "no json"],
    )
    def test_rejects_metadata(self, honcho: Honcho, workspace: str, metadata: Any) -> None:
        """Metadata that cannot be kept is refused, and what was there stays."""
        put(honcho, workspace, NOTHING_MUCH)

        with pytest.raises(HonchoRejected):
            put(honcho, workspace, metadata)

        assert NOTHING_MUCH == metadata_of(honcho, workspace)

    def test_metadata_is_a_copy(self, honcho: Honcho, workspace: str) -> None:
        """What becomes of an object after it was put or read does not reach the server."""
        ours: dict[str, Any] = {"k": {"a": 1}}
        put(honcho, workspace, ours)
        ours["k"]["a"] = 2
        theirs: Any = metadata_of(honcho, workspace)
        theirs["k"]["a"] = 3

        assert {"k": {"a": 1}} == metadata_of(honcho, workspace)

    # Card

    def test_puts_a_card(self, outside: ManagedOutside, honcho: Honcho, workspace: str) -> None:
        """A card is replaced as a whole, emptied by no lines, and creates the peer."""
        cards: list[list[str]] = []
        for lines in (["Name: Alice", "Lives in\nLisbon"], ["Gr\u00fc\u00dfe"], []):
            honcho.put_peer_card(workspace, USER, lines, timeout=TIMEOUT)
            cards.append(list(outside.card(workspace, USER)))

        assert [["Name: Alice", "Lives in\nLisbon"], ["Gr\u00fc\u00dfe"], []] == cards
        assert () == honcho.peer_card(workspace, USER, timeout=TIMEOUT)

    def test_rejects_a_card_that_is_not_unicode(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Half a surrogate pair refuses the card, and the old one stays."""
        outside.set_card(workspace, USER, ["Name: Alice"])

        with pytest.raises(HonchoRejected):
            honcho.put_peer_card(workspace, USER, ["fine", "\ud83d"], timeout=TIMEOUT)

        assert ["Name: Alice"] == list(outside.card(workspace, USER))

    # Sessions

    def test_names_the_sessions_of_a_peer(self, honcho: Honcho, workspace: str) -> None:
        """A peer is in the sessions that it spoke in, and in no others."""
        add(honcho, workspace, message("a"), message("b", author=OTHER), session="both")
        add(honcho, workspace, message("c"), session="alone")
        add(honcho, workspace, message("d", author=OTHER), session="without")
        add(honcho, f"{workspace}-2", message("e"), session="elsewhere")

        assert ["alone", "both"] == sorted(sessions_of(honcho, workspace))
        assert ["both", "without"] == sorted(sessions_of(honcho, workspace, OTHER))
        assert [] == sessions_of(honcho, workspace, "nobody")

    def test_names_sessions_a_page_at_a_time(self, honcho: Honcho, workspace: str) -> None:
        """More than 100 sessions come in pages, each of which says what follows."""
        names = [f"s{n}" for n in range(101)]
        for name in names:
            add(honcho, workspace, message(name), session=name)

        pages = [
            honcho.peer_sessions(workspace, USER, page=page, timeout=TIMEOUT) for page in (1, 2, 3)
        ]

        assert [100, 1, 0] == [len(page.items) for page in pages]
        assert [True, False, False] == [page.has_more for page in pages]
        assert set(names) == {name for page in pages for name in page.items}

    def test_names_a_session_until_it_is_deleted(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """A session is still named while it is being deleted, and cannot be deleted again."""
        add(honcho, workspace, message("a"))
        add(honcho, workspace, message("b"), session="kept")
        outside.delete_session(workspace, SESSION)

        with pytest.raises(HonchoNotFound):
            honcho.delete_session(workspace, SESSION, timeout=TIMEOUT)
        while_it_is_deleted = sorted(sessions_of(honcho, workspace))
        outside.finish_deletions()

        assert sorted([SESSION, "kept"]) == while_it_is_deleted
        assert ["kept"] == sessions_of(honcho, workspace)

    def test_names_the_peers_of_a_session(self, honcho: Honcho, workspace: str) -> None:
        """Who spoke in a session is in it, however often."""
        add(honcho, workspace, message("a"), message("b", author=OTHER), message("c"))
        add(honcho, workspace, message("d", author="carol"), session="another")
        put(honcho, workspace, {}, peer="silent")

        assert [USER, OTHER] == peers_of(honcho, workspace)
        assert ["carol"] == peers_of(honcho, workspace, "another")

    def test_names_all_peers_of_a_session(self, honcho: Honcho, workspace: str) -> None:
        """More peers than fit on a page are named by one call."""
        names = [f"p{n}" for n in range(201)]
        for start in range(0, len(names), 100):
            batch = [message(name, author=name) for name in names[start : start + 100]]
            add(honcho, workspace, *batch)

        assert sorted(names) == peers_of(honcho, workspace)

    def test_nobody_is_in_an_unknown_session(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """Neither a session that does not exist nor one that was deleted has peers."""
        assert [] == peers_of(honcho, workspace)

        add(honcho, workspace, message("a"))
        outside.delete_session(workspace, SESSION)
        outside.finish_deletions()

        assert [] == peers_of(honcho, workspace)
        assert [] == peers_of(honcho, workspace, "unknown")

    def test_a_new_session_forgets_who_was_in_the_old(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str
    ) -> None:
        """After its deletion a session has only those who spoke in it since."""
        add(honcho, workspace, message("a"), message("b", author=OTHER))
        outside.delete_session(workspace, SESSION)
        outside.finish_deletions()
        add(honcho, workspace, message("c"))

        assert [USER] == peers_of(honcho, workspace)
        assert [] == sessions_of(honcho, workspace, OTHER)

    # As such

    @pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
    def test_looking_creates_nothing(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str, look: Call
    ) -> None:
        """Whatever is looked through where nothing is, nothing is there afterwards."""
        assert [] == look(honcho, workspace)

        assert not outside.exists(workspace)

    @pytest.mark.parametrize("list_page", ["list_conclusions", "peer_sessions"])
    def test_no_list_has_a_page_before_the_first(
        self, honcho: Honcho, workspace: str, list_page: str
    ) -> None:
        """Pages of every list are counted from 1."""
        with pytest.raises(HonchoRejected):
            getattr(honcho, list_page)(workspace, USER, page=0, timeout=TIMEOUT)

    @pytest.mark.parametrize("call", [*LOOKS.values(), *CHANGES.values()], ids=[*LOOKS, *CHANGES])
    def test_manages_nothing_when_closed(
        self, outside: ManagedOutside, honcho: Honcho, workspace: str, call: Call
    ) -> None:
        """After closing, every call fails and does nothing."""
        honcho.close()

        with pytest.raises(HonchoUnavailable) as caught:
            call(honcho, workspace)

        assert not caught.value.outcome_unknown
        assert not outside.exists(workspace)
