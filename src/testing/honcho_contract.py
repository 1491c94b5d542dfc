"""What every implementation of the Honcho port has to do."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Protocol

import pytest

from honcho_memory.domain.errors import HonchoNotFound, HonchoRejected, HonchoUnavailable
from honcho_memory.domain.messages import Outgoing, StoredMessage
from honcho_memory.ports.honcho import Honcho

TIMEOUT = 30.0
"""Seconds; far more than any call of this suite takes."""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SESSION = "thread"
USER = "alice"
OTHER = "bob"


@dataclass(frozen=True, slots=True)
class Seen:
    """A stored message, as somebody sees it who does not use the port."""

    author: str
    content: str
    created_at: datetime
    metadata: Mapping[str, object]


class Outside(Protocol):
    """A server with the port under test, seen and set up past the port.

    A suite skips the tests of what its server cannot do, by overriding them.
    """

    @property
    def honcho(self) -> Honcho:
        """The port under test, connected to the server."""
        ...

    def messages(self, workspace: str, session: str) -> Sequence[Seen]:
        """The messages of a session in the order in which they were stored."""
        ...

    def observes(self, workspace: str, peer: str) -> bool | None:
        """Whether Honcho draws conclusions about a peer; None for an unknown one."""
        ...

    def exists(self, workspace: str) -> bool:
        """Whether there is such a workspace."""
        ...

    def set_card(self, workspace: str, peer: str, lines: Sequence[str]) -> None:
        """Give a peer a card; creates the peer."""
        ...

    def add_conclusion(
        self,
        workspace: str,
        peer: str,
        content: str,
        session: str | None = None,
        *,
        observer: str | None = None,
    ) -> None:
        """Add a conclusion about a peer, by an observer or else by itself; all of them exist."""
        ...

    def delete_session(self, workspace: str, session: str) -> None:
        """Begin to delete a session."""
        ...

    def finish_deletions(self) -> None:
        """Let the deletions that have begun come to their end."""
        ...


def message(
    key: str,
    content: str = "Hello",
    *,
    author: str = USER,
    created_at: datetime = NOON,
    metadata: Mapping[str, str | int] | None = None,
) -> Outgoing:
    if metadata is None:
        metadata = {"host_message_id": key}
    return Outgoing(key, author, content, created_at, metadata)


def add(honcho: Honcho, workspace: str, *messages: Outgoing | str, session: str = SESSION) -> None:
    """Add messages, or what the user says in order."""
    batch = [message(each, each) if isinstance(each, str) else each for each in messages]
    honcho.add_messages(workspace, session, batch, timeout=TIMEOUT)


def rejected(honcho: Honcho, workspace: str, *messages: Outgoing) -> HonchoRejected:
    """The error that adding these is answered with."""
    with pytest.raises(HonchoRejected) as caught:
        add(honcho, workspace, *messages)
    return caught.value


def find(
    honcho: Honcho,
    workspace: str,
    keys: Sequence[str],
    *,
    session: str = SESSION,
    or_without_key: bool = False,
) -> list[StoredMessage]:
    """What is on the first page of an answer that has no other."""
    page = honcho.find_messages(
        workspace, session, keys, or_without_key=or_without_key, timeout=TIMEOUT
    )
    assert not page.has_more
    return list(page.items)


def represent(
    honcho: Honcho, workspace: str, peer: str = USER, *, most: int = 25, query: str | None = None
) -> str:
    return honcho.representation(
        workspace, peer, max_conclusions=most, query=query, timeout=TIMEOUT
    )


def search(
    honcho: Honcho, workspace: str, query: str, *, limit: int = 10, author: str | None = None
) -> list[str]:
    found = honcho.search_messages(workspace, query, limit=limit, author=author, timeout=TIMEOUT)
    return [each.content for each in found]


def conclusions(
    honcho: Honcho, workspace: str, query: str, *, peer: str = USER, limit: int = 10
) -> list[str]:
    found = honcho.query_conclusions(workspace, peer, query, limit=limit, timeout=TIMEOUT)
    return [each.content for each in found]


def contents(outside: Outside, workspace: str, session: str = SESSION) -> list[str]:
    return [each.content for each in outside.messages(workspace, session)]


Call = Callable[[Honcho, str], object]
Ask = Callable[[Honcho, str, str], object]
ASKS: dict[str, Ask] = {
    "representation": lambda honcho, workspace, query: represent(honcho, workspace, query=query),
    "search": search,
    "conclusions": conclusions,
}
READS: dict[str, Call] = {
    "messages": lambda honcho, workspace: find(honcho, workspace, ["a"], or_without_key=True),
    "representation": lambda honcho, workspace: represent(honcho, workspace, query="tea"),
    "card": lambda honcho, workspace: honcho.peer_card(workspace, USER, timeout=TIMEOUT),
    "search": lambda honcho, workspace: search(honcho, workspace, "tea"),
    "search of one": lambda honcho, workspace: search(honcho, workspace, "tea", author=USER),
    "conclusions": lambda honcho, workspace: conclusions(honcho, workspace, "tea"),
}
WRITES: dict[str, Call] = {
    "add": lambda honcho, workspace: add(honcho, workspace, "Hello"),
    "configure": lambda honcho, workspace: honcho.configure_peer(
        workspace, USER, observe_me=False, timeout=TIMEOUT
    ),
}


class HonchoContract:
    """Inherit it, and say what `outside` is."""

    @pytest.fixture
    def outside(self) -> Outside:
        raise NotImplementedError

    @pytest.fixture
    def honcho(self, outside: Outside) -> Honcho:
        return outside.honcho

    @pytest.fixture
    def workspace(self) -> str:
        """The id of a workspace that nobody has used."""
        return f"contract-{uuid.uuid4().hex}"

    # Storing

    def test_stores_what_it_is_given(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """A message arrives with its author, its text, its time and its metadata."""
        said_at = datetime(2020, 2, 29, 1, 2, 3, 456789, timezone(timedelta(hours=5.5)))
        text = "Gr\u00fc\u00dfe \U0001f600\n\t'\"\\ <b>&amp;</b> %_ \u200d\ufeff"
        metadata: dict[str, str | int] = {
            "host_message_id": "a",
            "thread_id": "Gr\u00fc\u00dfe",
            "piece": 2,
        }

        add(honcho, workspace, message("a", text, created_at=said_at, metadata=metadata))

        assert [Seen(USER, text, said_at, metadata)] == list(outside.messages(workspace, SESSION))

    def test_creates_what_is_missing(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """Workspace, session and peers come into being with the first messages."""
        assert not outside.exists(workspace)

        add(honcho, workspace, message("a"), message("b", author=OTHER))

        assert outside.exists(workspace)
        assert [True, True] == [outside.observes(workspace, peer) for peer in (USER, OTHER)]

    def test_keeps_the_order(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """Messages are stored as they come, whenever they were said."""
        times = [NOON, NOON - timedelta(days=1), NOON + timedelta(days=10_000), NOON]
        batch = [message(f"{n}", f"{n}", created_at=time) for n, time in enumerate(times)]

        add(honcho, workspace, *batch[:3])
        add(honcho, workspace, *batch[3:])

        assert times == [each.created_at for each in outside.messages(workspace, SESSION)]
        assert ["0", "1", "2", "3"] == [
            each.content for each in find(honcho, workspace, ["3", "2", "1", "0"])
        ]

    def test_keeps_sessions_apart(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """A message belongs to the session and the workspace that it was added to."""
        another = f"{workspace}-2"

        add(honcho, workspace, "here")
        add(honcho, workspace, "there", session="other-thread")
        add(honcho, another, "elsewhere")

        assert ["here"] == contents(outside, workspace)
        assert ["there"] == contents(outside, workspace, "other-thread")
        assert ["elsewhere"] == contents(outside, another)
        assert [] == find(honcho, workspace, ["there", "elsewhere"])

    def test_stores_twice_what_is_added_twice(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """Nothing is deduplicated, neither within a batch nor between two."""
        add(honcho, workspace, "again", "again")
        add(honcho, workspace, "again")

        found = find(honcho, workspace, ["again"])

        assert ["again"] * 3 == contents(outside, workspace)
        assert len({each.id for each in found}) == 3

    def test_takes_a_hundred_messages(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """A batch of 100 is stored."""
        texts = [f"{n}" for n in range(100)]

        add(honcho, workspace, *texts)

        assert texts == contents(outside, workspace)

    @pytest.mark.parametrize("count", [0, 101])
    def test_rejects_a_batch_of_the_wrong_size(
        self, outside: Outside, honcho: Honcho, workspace: str, count: int
    ) -> None:
        """A batch of none or of more than 100 is refused, no message in particular."""
        error = rejected(honcho, workspace, *[message(f"{n}") for n in range(count)])

        assert (422, {}) == (error.status, error.refused)
        assert not outside.exists(workspace)

    def test_counts_characters(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """A message of 25,000 characters is stored, however many bytes they are."""
        text = "\U0001f600" * 25_000

        add(honcho, workspace, text)

        assert [text] == contents(outside, workspace)

    def test_rejects_a_batch_for_its_bad_messages(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """One bad message refuses the batch, and every one is named with the reason."""
        error = rejected(
            honcho,
            workspace,
            message("a", "fine"),
            message("b", "x" * 25_001),
            message("c", "what is <|endoftext|>?"),
            message("d", "fine too"),
            message("e", "x" * 25_001),
        )

        assert [1, 2, 4] == list(error.refused)
        assert all(error.refused.values())
        assert error.status == 422
        assert not outside.exists(workspace)

    @pytest.mark.parametrize("token", ["<|endoftext|>", "<|endofprompt|>", "<|endof\0text|>"])
    def test_rejects_control_tokens(
        self, outside: Outside, honcho: Honcho, workspace: str, token: str
    ) -> None:
        """A control token of the server's tokenizer refuses the batch."""
        error = rejected(honcho, workspace, message("a"), message("b", f"the {token} token"))

        assert [1] == list(error.refused)
        assert not outside.exists(workspace)

    def test_takes_other_control_tokens(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """What is a control token elsewhere is text."""
        add(honcho, workspace, "<|im_start|>")

        assert ["<|im_start|>"] == contents(outside, workspace)

    def test_rejects_what_is_not_unicode(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """Half a surrogate pair, in a text or in metadata, refuses the batch and is named."""
        bad_metadata = message("c", metadata={"host_message_id": "\udc00"})

        error = rejected(honcho, workspace, message("a"), message("b", "\ud83d"), bad_metadata)

        assert [1, 2] == list(error.refused)
        assert not outside.exists(workspace)

    def test_strips_nul(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """NUL is left out of texts and of metadata."""
        add(honcho, workspace, message("a\0b", "to\0\0ge\0ther"))

        assert [("together", {"host_message_id": "ab"})] == [
            (each.content, each.metadata) for each in outside.messages(workspace, SESSION)
        ]
        assert ["ab"] == [each.key for each in find(honcho, workspace, ["ab"])]

    def test_rejects_a_bad_author(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """A peer id that Honcho does not allow refuses the batch, and names no message."""
        error = rejected(honcho, workspace, message("a"), message("b", author="a.b@c"))

        assert (422, {}) == (error.status, error.refused)
        assert [] == contents(outside, workspace)

    def test_fails_on_a_bad_session(self, honcho: Honcho, workspace: str) -> None:
        """A session id that Honcho does not allow is an error of the server to it."""
        with pytest.raises(HonchoUnavailable) as caught:
            add(honcho, workspace, "Hello", session="a.b")

        assert (500, False) == (caught.value.status, caught.value.outcome_unknown)

    def test_takes_many_first_writes_at_once(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """Forty threads that write into one new session at once all succeed."""
        texts = {f"{n}" for n in range(40)}

        with ThreadPoolExecutor(len(texts)) as pool:
            for future in [pool.submit(add, honcho, workspace, text) for text in texts]:
                future.result()

        assert len(texts) == len(contents(outside, workspace))
        assert texts == set(contents(outside, workspace))

    # Finding

    def test_finds_messages_by_key(self, honcho: Honcho, workspace: str) -> None:
        """A message is found by its key, as it is stored."""
        said_at = datetime(2020, 2, 29, 1, 2, 3, 456789, timezone(timedelta(hours=5.5)))
        add(honcho, workspace, message("a", "one", created_at=said_at), "two", "three")

        (found,) = find(honcho, workspace, ["a", "unknown"])

        assert found.id
        assert found == StoredMessage(found.id, "a", USER, SESSION, "one", said_at)
        assert found.created_at.utcoffset() is not None
        assert ["two", "three"] == [each.key for each in find(honcho, workspace, ["three", "two"])]

    def test_compares_keys_strictly(self, honcho: Honcho, workspace: str) -> None:
        """A key is found by itself, not by what looks like it."""
        add(honcho, workspace, "a", message("n", "number", metadata={"host_message_id": 1}))

        assert [] == find(honcho, workspace, ["A", "a ", "1", "%", ""])
        assert [] == find(honcho, workspace, [])

    def test_finds_everything_by_an_asterisk(self, honcho: Honcho, workspace: str) -> None:
        """An asterisk among the keys matches every message."""
        add(honcho, workspace, "a", "b", message("c", "without", metadata={}))

        found = find(honcho, workspace, ["a", "*"])

        assert ["a", "b", "without"] == [each.content for each in found]

    def test_finds_messages_without_key(self, honcho: Honcho, workspace: str) -> None:
        """What another program stored without a key is found on demand, in its place."""
        add(
            honcho,
            workspace,
            message("x", "first", metadata={}),
            "a",
            "b",
            message("x", "last", metadata={"other": "x"}),
        )

        found = find(honcho, workspace, ["b"], or_without_key=True)

        assert [("first", None), ("b", "b"), ("last", None)] == [
            (each.content, each.key) for each in found
        ]
        assert ["b"] == [each.content for each in find(honcho, workspace, ["b"])]
        assert ["first", "last"] == [
            each.content for each in find(honcho, workspace, [], or_without_key=True)
        ]

    def test_gives_messages_a_page_at_a_time(self, honcho: Honcho, workspace: str) -> None:
        """An answer of more than 100 messages comes in pages, each of which says what follows."""
        keys = [f"k{n}" for n in range(210)]
        for start in range(0, len(keys), 100):
            add(honcho, workspace, *keys[start : start + 100])

        pages = [
            honcho.find_messages(
                workspace, SESSION, [*keys, *map(str, range(90))], page=page, timeout=TIMEOUT
            )
            for page in (1, 2, 3, 4)
        ]

        assert keys == [each.key for page in pages for each in page.items]
        assert [100, 100, 10, 0] == [len(page.items) for page in pages]
        assert [True, True, False, False] == [page.has_more for page in pages]

    def test_a_full_page_is_the_last(self, honcho: Honcho, workspace: str) -> None:
        """No page follows a full one when nothing is left."""
        keys = [f"k{n}" for n in range(100)]
        add(honcho, workspace, *keys)

        assert keys == [each.key for each in find(honcho, workspace, keys)]

    def test_rejects_a_page_before_the_first(self, honcho: Honcho, workspace: str) -> None:
        """Pages are counted from 1."""
        with pytest.raises(HonchoRejected):
            honcho.find_messages(workspace, SESSION, ["a"], page=0, timeout=TIMEOUT)

    def test_finds_nothing_in_the_unknown(self, honcho: Honcho, workspace: str) -> None:
        """A session or workspace that does not exist, or cannot exist, holds nothing."""
        add(honcho, workspace, "a")

        assert [] == find(honcho, workspace, ["a"], session="unknown", or_without_key=True)
        assert [] == find(honcho, workspace, ["a"], session="a.b")
        assert [] == find(honcho, f"{workspace}-2", ["a"])

    # Peers

    @pytest.mark.parametrize("observe_me", [True, False])
    def test_configures_a_new_peer(
        self, outside: Outside, honcho: Honcho, workspace: str, observe_me: bool
    ) -> None:
        """A peer can be created with a say in whether conclusions are drawn about it."""
        assert outside.observes(workspace, "assistant") is None

        honcho.configure_peer(workspace, "assistant", observe_me=observe_me, timeout=TIMEOUT)
        add(honcho, workspace, message("a", author="assistant"))

        assert observe_me is outside.observes(workspace, "assistant")

    def test_configures_an_existing_peer(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """What is said about a peer last counts, and about that peer alone."""
        add(honcho, workspace, message("a", author="assistant"), message("b"))

        seen: list[bool | None] = []
        for observe_me in (False, True, False):
            honcho.configure_peer(workspace, "assistant", observe_me=observe_me, timeout=TIMEOUT)
            seen.append(outside.observes(workspace, "assistant"))

        assert [False, True, False] == seen
        assert outside.observes(workspace, USER) is True

    def test_rejects_a_bad_peer(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """A peer id that Honcho does not allow is refused."""
        with pytest.raises(HonchoRejected) as caught:
            honcho.configure_peer(workspace, "a.b@c", observe_me=False, timeout=TIMEOUT)

        assert caught.value.status == 422
        assert not outside.exists(workspace)

    # Representation

    def test_represents_what_was_said(self, honcho: Honcho, workspace: str) -> None:
        """What an observed peer says becomes part of what is known of it, and of nobody else."""
        add(honcho, workspace, message("a", "I like tea."), message("b", "Noted.", author=OTHER))

        text = represent(honcho, workspace)

        assert text.startswith("## Explicit Observations\n\n[")
        assert "] alice said: I like tea.\n" in text
        assert "Noted" not in text

    def test_represents_nothing_of_an_unobserved_peer(self, honcho: Honcho, workspace: str) -> None:
        """No conclusions are drawn from what a peer says that is not observed."""
        honcho.configure_peer(workspace, "assistant", observe_me=False, timeout=TIMEOUT)
        add(honcho, workspace, message("a", author="assistant"), message("b", "I like tea."))

        assert represent(honcho, workspace, "assistant") == ""

    def test_represents_conclusions(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """Conclusions are a line each under a heading, with their time, oldest first."""
        outside.set_card(workspace, USER, [])
        outside.add_conclusion(workspace, USER, "Likes tea")
        outside.add_conclusion(workspace, USER, "Lives in Lisbon")

        heading, blank, *lines = represent(honcho, workspace).splitlines()

        assert ("## Explicit Observations", "") == (heading, blank)
        assert ["Likes tea", "Lives in Lisbon"] == [line.partition("] ")[2] for line in lines]
        for line in lines:
            datetime.strptime(line.partition("]")[0], "[%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)

    def test_does_not_escape(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """A conclusion is part of the representation as it is, line ends and markup included."""
        outside.set_card(workspace, USER, [])
        outside.add_conclusion(workspace, USER, "Likes tea\n## Contradictions\n</memory> & more")

        assert "Likes tea\n## Contradictions\n</memory> & more\n" in represent(honcho, workspace)

    def test_represents_the_newest(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """Of more conclusions than are asked for, the newest are given."""
        outside.set_card(workspace, USER, [])
        for number in range(4):
            outside.add_conclusion(workspace, USER, f"fact-{number}")

        text = represent(honcho, workspace, most=2)

        assert [False, False, True, True] == [f"fact-{number}" in text for number in range(4)]

    def test_represents_what_is_near_a_query(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """A query brings in what is near it, next to what is recent."""
        outside.set_card(workspace, USER, [])
        for content in ["Plays the piano", "Likes tea", "Owns a boat", "Lives in Lisbon"]:
            outside.add_conclusion(workspace, USER, content)

        text = represent(honcho, workspace, most=2, query="Who plays the piano?")

        assert "Plays the piano" in text
        assert "Lives in Lisbon" in text

    def test_represents_what_a_peer_knows_of_itself(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """What others conclude about a peer, and what is concluded about others, is left out."""
        outside.set_card(workspace, USER, [])
        outside.set_card(workspace, OTHER, [])
        outside.add_conclusion(workspace, USER, "Seems tired", observer=OTHER)
        outside.add_conclusion(workspace, OTHER, "Likes coffee")

        assert represent(honcho, workspace) == ""

    def test_represents_nothing_of_an_unknown_peer(self, honcho: Honcho, workspace: str) -> None:
        """Of an unknown peer, in a known workspace or an unknown one, nothing is known."""
        add(honcho, workspace, "Hello")

        assert represent(honcho, workspace, "nobody") == ""
        assert represent(honcho, f"{workspace}-2") == ""

    @pytest.mark.parametrize("most", [0, 101])
    def test_rejects_a_number_of_conclusions(
        self, honcho: Honcho, workspace: str, most: int
    ) -> None:
        """1 to 100 conclusions can be asked for."""
        with pytest.raises(HonchoRejected):
            represent(honcho, workspace, most=most)

        assert represent(honcho, workspace, most=1) == represent(honcho, workspace, most=100)

    # Card

    def test_reads_a_card(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """A card is read as it was set, until it is emptied."""
        outside.set_card(workspace, USER, ["Name: Alice", "Lives in\nLisbon"])
        full = honcho.peer_card(workspace, USER, timeout=TIMEOUT)
        outside.set_card(workspace, USER, [])
        emptied = honcho.peer_card(workspace, USER, timeout=TIMEOUT)

        assert (("Name: Alice", "Lives in\nLisbon"), ()) == (full, emptied)

    def test_reads_no_card(self, honcho: Honcho, workspace: str) -> None:
        """The card is empty of a peer that has none, that is unknown, or of no workspace."""
        add(honcho, workspace, "Hello")

        assert () == honcho.peer_card(workspace, USER, timeout=TIMEOUT)
        assert () == honcho.peer_card(workspace, "nobody", timeout=TIMEOUT)
        assert () == honcho.peer_card(f"{workspace}-2", USER, timeout=TIMEOUT)

    # Search

    def test_searches_messages(self, honcho: Honcho, workspace: str) -> None:
        """The nearest message comes first, whoever said it in whatever session."""
        add(honcho, workspace, "I like tea.", "I moved to Lisbon.")
        add(honcho, workspace, message("c", "My piano arrived.", author=OTHER), session="two")

        assert search(honcho, workspace, "Lisbon")[0] == "I moved to Lisbon."
        assert search(honcho, workspace, "piano")[0] == "My piano arrived."

    def test_shows_found_messages_as_they_are_stored(self, honcho: Honcho, workspace: str) -> None:
        """A message that a search finds is the one that was stored."""
        add(honcho, workspace, message("a", "I like tea."), message("x", "Tea!", metadata={}))

        found = honcho.search_messages(workspace, "tea", limit=10, timeout=TIMEOUT)

        (stored,) = find(honcho, workspace, ["a"])
        assert stored in found
        assert {"a", None} == {each.key for each in found}

    def test_fills_a_search_up(self, honcho: Honcho, workspace: str) -> None:
        """A search gives as many messages as it may, near or not."""
        add(honcho, workspace, "I like tea.", "I moved to Lisbon.", "My piano arrived.")

        assert len(search(honcho, workspace, "Lisbon", limit=2)) == 2
        assert len(search(honcho, workspace, "Lisbon", limit=100)) == 3

    def test_searches_what_one_peer_said(self, honcho: Honcho, workspace: str) -> None:
        """With an author, nobody else's messages are found."""
        add(honcho, workspace, message("a", "I like tea."), message("b", "Tea!", author=OTHER))

        assert ["I like tea."] == search(honcho, workspace, "tea", author=USER)
        assert [] == search(honcho, workspace, "tea", author="nobody")

    def test_searches_nothing_in_the_unknown(self, honcho: Honcho, workspace: str) -> None:
        """Nothing is found in a workspace that does not exist."""
        assert [] == search(honcho, workspace, "tea")
        assert [] == search(honcho, workspace, "tea", author=USER)

    @pytest.mark.parametrize("limit", [0, 101])
    def test_rejects_a_search_limit(self, honcho: Honcho, workspace: str, limit: int) -> None:
        """1 to 100 messages can be searched for."""
        add(honcho, workspace, "Hello")

        with pytest.raises(HonchoRejected):
            search(honcho, workspace, "tea", limit=limit)

    # Conclusions

    def test_queries_conclusions(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """The nearest conclusion comes first, with its session if it has one."""
        add(honcho, workspace, message("a", "Hello", author=OTHER))
        outside.set_card(workspace, USER, [])
        outside.add_conclusion(workspace, USER, "Likes tea", SESSION)
        outside.add_conclusion(workspace, USER, "Plays the piano")

        found = honcho.query_conclusions(workspace, USER, "tea", limit=10, timeout=TIMEOUT)

        assert [("Likes tea", SESSION), ("Plays the piano", None)] == [
            (each.content, each.session) for each in found
        ]
        assert len({each.id for each in found}) == 2
        assert all(each.created_at.utcoffset() is not None for each in found)

    def test_queries_among_some_conclusions(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """Only those are found, of the observer's own, however near others are."""
        outside.set_card(workspace, USER, [])
        for content in ["Likes tea", "Plays the piano", "Owns a boat"]:
            outside.add_conclusion(workspace, USER, content)
        every = honcho.query_conclusions(workspace, USER, "tea", limit=10, timeout=TIMEOUT)
        wanted = {each.id: each.content for each in every if each.content != "Likes tea"}

        found = honcho.query_conclusions(
            workspace, USER, "tea", limit=10, ids=[*wanted, "no-such-id"], timeout=TIMEOUT
        )

        assert wanted == {each.id: each.content for each in found}

    def test_fills_a_query_up(self, outside: Outside, honcho: Honcho, workspace: str) -> None:
        """A query gives as many conclusions as it may, near or not."""
        outside.set_card(workspace, USER, [])
        for content in ["Plays the piano", "Likes tea", "Owns a boat"]:
            outside.add_conclusion(workspace, USER, content)

        assert len(conclusions(honcho, workspace, "piano", limit=2)) == 2
        assert len(conclusions(honcho, workspace, "piano", limit=100)) == 3

    def test_queries_what_a_peer_concluded_about_itself(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """Neither other observers' conclusions about a peer are found, nor those about others."""
        outside.set_card(workspace, USER, [])
        outside.set_card(workspace, OTHER, [])
        outside.add_conclusion(workspace, USER, "Likes tea")
        outside.add_conclusion(workspace, USER, "Drinks too much tea", observer=OTHER)
        outside.add_conclusion(workspace, OTHER, "Hates tea", observer=USER)
        outside.add_conclusion(workspace, OTHER, "Sells tea")

        assert ["Likes tea"] == conclusions(honcho, workspace, "tea")

    def test_queries_nothing_in_the_unknown(self, honcho: Honcho, workspace: str) -> None:
        """Neither an unknown peer nor an unknown workspace has conclusions."""
        add(honcho, workspace, "Hello")

        assert [] == conclusions(honcho, workspace, "tea", peer="nobody")
        assert [] == conclusions(honcho, f"{workspace}-2", "tea")

    @pytest.mark.parametrize("limit", [0, 101])
    def test_rejects_a_query_limit(
        self, outside: Outside, honcho: Honcho, workspace: str, limit: int
    ) -> None:
        """1 to 100 conclusions can be queried."""
        outside.set_card(workspace, USER, [])

        with pytest.raises(HonchoRejected):
            conclusions(honcho, workspace, "tea", limit=limit)

    # Reading as such

    @pytest.mark.parametrize("read", READS.values(), ids=READS)
    def test_reads_create_nothing(
        self, outside: Outside, honcho: Honcho, workspace: str, read: Call
    ) -> None:
        """Whatever is read where nothing is, nothing is there afterwards."""
        read(honcho, workspace)

        assert not outside.exists(workspace)
        assert outside.observes(workspace, USER) is None

    @pytest.mark.parametrize("text", ["<|endoftext|>", "\ud83d"])
    @pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
    def test_rejects_a_query(
        self,
        outside: Outside,
        honcho: Honcho,
        workspace: str,
        ask: Ask,
        text: str,
    ) -> None:
        """A query is refused that holds a control token, or is not Unicode."""
        outside.set_card(workspace, USER, [])

        with pytest.raises(HonchoRejected):
            ask(honcho, workspace, text)

    # Deletion

    def test_a_session_being_deleted_cannot_be_written(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """Until its deletion has finished, a session takes no messages; others do."""
        add(honcho, workspace, "old")
        outside.delete_session(workspace, SESSION)

        with pytest.raises(HonchoNotFound) as caught:
            add(honcho, workspace, "new")
        add(honcho, workspace, "new", session="other-thread")

        assert caught.value.status == 404
        assert ["new"] == contents(outside, workspace, "other-thread")

    def test_a_deleted_session_starts_afresh(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """After its deletion a session is empty and can be written again."""
        add(honcho, workspace, "old")
        outside.delete_session(workspace, SESSION)
        outside.finish_deletions()

        assert [] == find(honcho, workspace, ["old"])
        assert [] == search(honcho, workspace, "old")
        add(honcho, workspace, "new")
        assert ["new"] == contents(outside, workspace)

    def test_a_deletion_takes_what_was_derived(
        self, outside: Outside, honcho: Honcho, workspace: str
    ) -> None:
        """What was derived in a deleted session goes with it; peer, card and the rest stay."""
        add(honcho, workspace, message("a", "I like tea."))
        outside.set_card(workspace, USER, ["Name: Alice"])
        outside.add_conclusion(workspace, USER, "Drinks tea", SESSION)
        outside.add_conclusion(workspace, USER, "Plays the piano")
        outside.delete_session(workspace, SESSION)
        outside.finish_deletions()

        assert ["Plays the piano"] == conclusions(honcho, workspace, "tea")
        assert "tea" not in represent(honcho, workspace)
        assert ("Name: Alice",) == honcho.peer_card(workspace, USER, timeout=TIMEOUT)
        assert outside.observes(workspace, USER) is True

    # Closing

    @pytest.mark.parametrize("call", [*READS.values(), *WRITES.values()], ids=[*READS, *WRITES])
    def test_is_of_no_use_when_closed(
        self, outside: Outside, honcho: Honcho, workspace: str, call: Call
    ) -> None:
        """After closing, which can be done twice, every call fails and does nothing."""
        honcho.close()
        honcho.close()

        with pytest.raises(HonchoUnavailable) as caught:
            call(honcho, workspace)

        assert not caught.value.outcome_unknown
        assert not outside.exists(workspace)

    # Administration

    def test_a_server_tells_how_it_is(self, outside: Outside) -> None:
        """A server that serves says so, and what time it is, in a known zone."""
        date = outside.honcho.health(timeout=TIMEOUT).date

        assert date is None or date.tzinfo is not None

    def test_a_workspace_goes_after_its_sessions(self, outside: Outside, workspace: str) -> None:
        """It is kept while somebody may still talk in it; what is gone cannot be deleted."""
        honcho = outside.honcho
        add(honcho, workspace, "a")
        with pytest.raises(HonchoRejected):
            honcho.delete_workspace(workspace, timeout=TIMEOUT)

        honcho.delete_session(workspace, SESSION, timeout=TIMEOUT)
        with pytest.raises(HonchoNotFound):
            honcho.delete_session(workspace, SESSION, timeout=TIMEOUT)
        outside.finish_deletions()
        assert [] == outside.messages(workspace, SESSION)
        honcho.delete_workspace(workspace, timeout=TIMEOUT)
        outside.finish_deletions()

        with pytest.raises(HonchoNotFound):
            honcho.delete_workspace(workspace, timeout=TIMEOUT)
        with pytest.raises(HonchoNotFound):
            honcho.delete_session(workspace, SESSION, timeout=TIMEOUT)
