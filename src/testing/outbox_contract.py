"""What every implementation of the outbox port has to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Protocol

import pytest

from honcho_memory.domain.errors import OutboxFull, OutboxUnavailable
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.outbox import Claim, Draft, Lane, Outbox, Tally

SERVER = "http://127.0.0.1:8000"
LANE = Lane(SERVER, "workspace", "session")
OTHER_LANE = Lane(SERVER, "workspace", "other-session")
NOW = 1_000_000_000.0
LEASE = 60.0
DAY = 86_400.0
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class MakeOutbox(Protocol):
    def __call__(self, *, max_messages: int = ..., max_bytes: int = ...) -> Outbox: ...


def draft(
    key: str,
    content: str = "Hello",
    *,
    created_at: datetime = NOON,
    metadata: Mapping[str, str | int] | None = None,
    doubtful: bool = False,
    builtin_digest: str | None = None,
    owner: str = "alice",
    said_at: float = NOW,
) -> Draft:
    message = Outgoing(key, "alice", content, created_at, metadata or {"host_message_id": key})
    return Draft(message, doubtful, builtin_digest, owner, said_at)


def put(outbox: Outbox, *keys: str, lane: Lane = LANE, now: float = NOW) -> int:
    return outbox.put(lane, [draft(key) for key in keys], now=now)


def claim(
    outbox: Outbox,
    *,
    server: str = SERVER,
    holder: str = "holder",
    now: float = NOW,
    limit: int = 100,
    max_bytes: int = 1_000_000,
) -> Claim | None:
    return outbox.claim(
        server, holder=holder, now=now, lease=LEASE, limit=limit, max_bytes=max_bytes
    )


def claimed(outbox: Outbox, **how: float | str) -> Claim:
    found = claim(outbox, **how)  # type: ignore[arg-type]  # passed on as they are
    assert found is not None
    return found


def keys_of(found: Claim | None) -> list[str]:
    return [] if found is None else [row.message.key for row in found.rows]


def numbers_of(found: Claim) -> list[int]:
    return [row.number for row in found.rows]


def deliver(outbox: Outbox, *, now: float = NOW) -> Sequence[str]:
    """Deliver everything that the lane due longest hands out at once."""
    found = claimed(outbox, now=now)
    outbox.delivered(found, numbers_of(found), now=now)
    outbox.release(found, due=now)
    return keys_of(found)


def refuse(outbox: Outbox, reason: str = "too long", *, now: float = NOW) -> list[int]:
    """Set everything aside that the lane due longest hands out at once."""
    found = claimed(outbox, now=now)
    outbox.set_aside(found, dict.fromkeys(numbers_of(found), reason), now=now)
    outbox.release(found, due=now)
    return numbers_of(found)


class OutboxContract:
    """Inherit it, and say what `make_outbox` makes."""

    @pytest.fixture
    def make_outbox(self) -> MakeOutbox:
        raise NotImplementedError

    @pytest.fixture
    def outbox(self, make_outbox: MakeOutbox) -> Outbox:
        return make_outbox()

    @pytest.fixture
    def another(self, outbox: Outbox) -> Outbox:
        """Another outbox on the same storage, where it can be shared."""
        return outbox

    # Accepting

    def test_hands_out_what_was_put(self, outbox: Outbox, another: Outbox) -> None:
        """A message comes out of the outbox as it went in."""
        created_at = datetime(2026, 1, 1, 12, 0, 0, 123456, timezone(timedelta(hours=5.5)))
        given_draft = draft(
            "k\u00fc",
            "Gr\u00fc\u00dfe \U0001f600\n\t'\"",
            created_at=created_at,
            metadata={"host_message_id": "k\u00fc", "piece": 2},
            doubtful=True,
            builtin_digest="abc",
        )

        outbox.put(LANE, [given_draft], now=NOW)
        (row,) = claimed(another, now=NOW + 1).rows

        assert given_draft.message == row.message
        assert created_at.utcoffset() == row.message.created_at.utcoffset()
        assert (True, "abc", NOW) == (row.doubtful, row.builtin_digest, row.accepted_at)

    @pytest.mark.parametrize(
        "text",
        [
            " ",
            "'",
            '"; DROP TABLE message --',
            "%_*?",
            "\r\n\t\x01\x7f",
            "\ufeff\ufffe",
            "e\u0301",
            "\U0001f9d1\u200d\U0001f680",
            "1",
            "k" * 5000,
        ],
    )
    def test_keeps_any_text(self, outbox: Outbox, text: str) -> None:
        """Whatever the text of a message, a key or an id, it is kept as it is."""
        lane = Lane(text, text, text)
        message = Outgoing(text, text, text, NOON, {text: text})

        outbox.put(lane, [Draft(message, builtin_digest=text)], now=NOW)
        outbox.mark(text, text, text)
        found = claimed(outbox, server=text, holder=text)

        assert (lane, text) == (found.lane, found.holder)
        assert [message] == [row.message for row in found.rows]
        assert {text} == outbox.known(lane, [text])
        assert text == outbox.marked(text, text)

    def test_survives_a_lone_surrogate(self, outbox: Outbox) -> None:
        """Text that is not Unicode is kept, or refused as any text that cannot be kept."""
        try:
            stored = outbox.put(LANE, [draft("k", "\ud800")], now=NOW)
        except OutboxUnavailable:
            stored = 0
        assert stored == outbox.tally(SERVER).waiting

    def test_takes_only_unseen_keys(self, outbox: Outbox) -> None:
        """A message that the lane has seen is not taken again, and the count says so."""
        assert put(outbox, "a", "b") == 2
        assert put(outbox, "a", "c", "b", "c") == 1
        assert put(outbox, "a", "b", "c") == 0
        assert put(outbox) == 0
        assert ["a", "b", "c"] == keys_of(claim(outbox))

    def test_keeps_the_first_of_two_with_one_key(self, outbox: Outbox) -> None:
        """Of two messages with one key, the first is the message."""
        drafts = [draft("a", "first"), draft("b"), draft("a", "second")]

        assert outbox.put(LANE, drafts, now=NOW) == 2

        assert [("a", "first"), ("b", "Hello")] == [
            (row.message.key, row.message.content) for row in claimed(outbox).rows
        ]

    def test_knows_keys_per_lane(self, outbox: Outbox) -> None:
        """The same key in another lane is another message."""
        put(outbox, "a", lane=LANE)

        assert set() == outbox.known(OTHER_LANE, ["a"])
        assert put(outbox, "a", lane=OTHER_LANE) == 1

    def test_knows_keys_in_every_state(self, outbox: Outbox, another: Outbox) -> None:
        """A lane has seen what waits, what was set aside and what was delivered."""
        put(outbox, "delivered")
        deliver(outbox)
        put(outbox, "set aside")
        refuse(outbox)
        put(outbox, "waiting")

        keys = ["delivered", "set aside", "waiting"]
        assert set(keys) == another.known(LANE, [*keys, "unseen"])
        assert set() == another.known(LANE, [])
        assert put(another, *keys) == 0

    def test_knows_a_whole_thread(self, outbox: Outbox) -> None:
        """Any number of keys can be asked for at once."""
        keys = [f"k{number}" for number in range(1200)]
        put(outbox, *keys)

        assert set(keys) == outbox.known(LANE, [*keys, "unseen"])

    def test_takes_all_or_nothing(self, make_outbox: MakeOutbox) -> None:
        """A turn that does not fit is refused as a whole, and is not known afterwards."""
        outbox = make_outbox(max_messages=3)
        put(outbox, "a", "b")

        with pytest.raises(OutboxFull):
            put(outbox, "c", "d")

        assert {"a", "b"} == outbox.known(LANE, ["a", "b", "c", "d"])
        assert outbox.tally(SERVER) == Tally(waiting=2)
        assert put(outbox, "c") == 1

    def test_a_refused_turn_leaves_no_lane(self, make_outbox: MakeOutbox) -> None:
        """A lane whose first turn is refused is no lane yet."""
        outbox = make_outbox(max_messages=1)

        with pytest.raises(OutboxFull):
            put(outbox, "a", "b")

        assert outbox.next_due(SERVER) is None
        assert claim(outbox) is None

    def test_limits_bytes(self, make_outbox: MakeOutbox) -> None:
        """The limit on bytes counts UTF-8, and what was delivered makes room."""
        outbox = make_outbox(max_bytes=10)
        outbox.put(LANE, [draft("a", "\u00e4" * 5)], now=NOW)

        with pytest.raises(OutboxFull):
            outbox.put(OTHER_LANE, [draft("b", "x")], now=NOW)

        deliver(outbox)
        assert outbox.put(OTHER_LANE, [draft("b", "x" * 10)], now=NOW) == 1

    def test_takes_known_messages_when_full(self, make_outbox: MakeOutbox) -> None:
        """A full outbox does not complain about a turn that it holds already."""
        outbox = make_outbox(max_messages=1)
        put(outbox, "a")

        assert put(outbox, "a") == 0

    def test_what_is_set_aside_takes_room(self, make_outbox: MakeOutbox) -> None:
        """Messages that were set aside count against the limit until somebody decides."""
        outbox = make_outbox(max_messages=1)
        put(outbox, "a")
        refused = refuse(outbox)

        with pytest.raises(OutboxFull):
            put(outbox, "b")

        outbox.discard(refused, now=NOW)
        assert put(outbox, "b") == 1

    def test_orders_times_within_a_lane(self, outbox: Outbox) -> None:
        """A message is never said before its predecessor, whatever the host's clock says."""
        times = [NOON, NOON - timedelta(hours=1), NOON + timedelta(hours=1), NOON]
        drafts = [draft(f"k{i}", created_at=time) for i, time in enumerate(times)]

        outbox.put(LANE, drafts[:3], now=NOW)
        outbox.put(LANE, drafts[3:], now=NOW)
        outbox.put(OTHER_LANE, [draft("k", created_at=times[1])], now=NOW + 1)

        later = NOON + timedelta(hours=1)
        assert [NOON, NOON, later, later] == [
            row.message.created_at for row in claimed(outbox).rows
        ]
        assert [times[1]] == [row.message.created_at for row in claimed(outbox, now=NOW + 1).rows]

    def test_compares_times_across_offsets(self, outbox: Outbox) -> None:
        """What counts is the moment, not the hour on somebody's clock."""
        east = datetime(2026, 1, 1, 13, tzinfo=timezone(timedelta(hours=5)))
        outbox.put(LANE, [draft("a"), draft("b", created_at=east)], now=NOW)

        assert [NOON, NOON] == [row.message.created_at for row in claimed(outbox).rows]

    def test_remembers_the_last_time_of_a_lane(self, outbox: Outbox) -> None:
        """The predecessor counts also when it is delivered and its key is forgotten."""
        put(outbox, "a")
        deliver(outbox)
        outbox.tidy(now=NOW + 31 * DAY)
        assert set() == outbox.known(LANE, ["a"])

        outbox.put(LANE, [draft("b", created_at=NOON - timedelta(hours=1))], now=NOW + 31 * DAY)

        (row,) = claimed(outbox, now=NOW + 31 * DAY).rows
        assert row.message.created_at == NOON

    # Dropping

    def test_drops_what_waits(self, make_outbox: MakeOutbox) -> None:
        """A dropped message makes room, is not delivered, and is not taken again."""
        outbox = make_outbox(max_messages=2)
        put(outbox, "a", "b")

        assert outbox.drop(LANE, ["a", "a", "unseen"], now=NOW) == 1
        assert outbox.drop(LANE, ["a"], now=NOW) == outbox.drop(OTHER_LANE, ["b"], now=NOW) == 0
        assert outbox.drop(LANE, [], now=NOW) == 0

        assert put(outbox, "a", "c") == 1
        assert ["b", "c"] == keys_of(claim(outbox))

    def test_drops_only_what_waits(self, outbox: Outbox) -> None:
        """What was set aside or delivered is not dropped."""
        put(outbox, "delivered")
        deliver(outbox)
        put(outbox, "set aside")
        refuse(outbox)

        assert outbox.drop(LANE, ["delivered", "set aside"], now=NOW) == 0
        assert outbox.tally(SERVER) == Tally(set_aside=1)

    def test_drops_from_a_lane_that_is_held(self, outbox: Outbox, another: Outbox) -> None:
        """A message may be dropped while it is on its way, and the lane is idle afterwards."""
        put(outbox, "a")
        found = claimed(another)

        assert outbox.drop(LANE, ["a"], now=NOW) == 1
        another.delivered(found, numbers_of(found), now=NOW)
        another.release(found, due=NOW + 30, failed=True)

        assert outbox.next_due(SERVER) is None
        put(outbox, "b", now=NOW + 1)
        assert outbox.next_due(SERVER) == NOW + 1

    def test_a_lane_from_which_all_is_dropped_is_idle(self, outbox: Outbox) -> None:
        """Where nothing is left to deliver, a back-off is over."""
        put(outbox, "a")
        outbox.release(claimed(outbox), due=NOW + 30, failed=True)

        outbox.drop(LANE, ["a"], now=NOW)

        assert outbox.next_due(SERVER) is None
        put(outbox, "b", now=NOW + 1)
        assert outbox.next_due(SERVER) == NOW + 1

    # Claiming

    # Forgetting a user

    def test_hands_out_whose_and_when(self, outbox: Outbox, another: Outbox) -> None:
        """Whose memory a message belongs to and when it was said stay with it."""
        outbox.put(LANE, [draft("k", owner="bob", said_at=12.5)], now=NOW)

        (row,) = claimed(another).rows

        assert ("bob", 12.5) == (row.owner, row.said_at)

    def test_forgets_a_user(self, outbox: Outbox, another: Outbox) -> None:
        """What waits and what was set aside goes, in every lane of the workspace; keys stay."""
        put(outbox, "refused")
        refuse(outbox)
        put(outbox, "waiting")
        put(outbox, "elsewhere", lane=OTHER_LANE)

        touched = another.forget(SERVER, "workspace", "alice", until=NOW, now=NOW)

        assert [OTHER_LANE, LANE] == list(touched)
        assert Tally() == outbox.tally(SERVER)
        assert outbox.next_due(SERVER) is None
        assert {"refused", "waiting"} == outbox.known(LANE, {"refused", "waiting"})

    def test_forgets_nothing_else(self, outbox: Outbox) -> None:
        """Not what others said, not what was said later, not another workspace or server."""
        elsewhere = [Lane(SERVER, "other", "session"), Lane("http://other", "workspace", "session")]
        for lane in elsewhere:
            put(outbox, "k", lane=lane)
        outbox.put(LANE, [draft("bob's", owner="bob"), draft("later", said_at=NOW + 1)], now=NOW)

        assert [] == list(outbox.forget(SERVER, "workspace", "alice", until=NOW, now=NOW))
        assert Tally(waiting=3, elsewhere=1) == outbox.tally(SERVER)

    def test_forgets_what_is_in_hand(self, outbox: Outbox, another: Outbox) -> None:
        """A holder may report the fate of what was forgotten; it changes nothing."""
        put(outbox, "k")
        found = claimed(outbox)

        assert [LANE] == list(another.forget(SERVER, "workspace", "alice", until=NOW, now=NOW))
        assert outbox.renew(found, now=NOW, lease=LEASE)
        outbox.delivered(found, numbers_of(found), now=NOW)
        outbox.release(found, due=NOW)

        assert Tally() == outbox.tally(SERVER)
        assert 0 == put(outbox, "k")

    def test_makes_room_by_forgetting(self, make_outbox: MakeOutbox) -> None:
        """What was forgotten takes none."""
        outbox = make_outbox(max_messages=1)
        put(outbox, "k")
        outbox.forget(SERVER, "workspace", "alice", until=NOW, now=NOW)

        assert 1 == put(outbox, "new")

    # Holding

    def test_nothing_of_a_held_lane_is_handed_out(self, outbox: Outbox, another: Outbox) -> None:
        """Neither what waits nor what arrives, until it is released."""
        put(outbox, "before")
        held = outbox.hold(LANE, holder="me", now=NOW, lease=LEASE)
        assert held is not None
        put(outbox, "after")

        assert claim(another) is None
        another.release(held, due=NOW)
        assert ["before", "after"] == keys_of(claim(outbox))

    def test_holds_a_lane_that_is_not_there(self, outbox: Outbox, another: Outbox) -> None:
        """Whoever begins to speak in it waits."""
        held = outbox.hold(LANE, holder="me", now=NOW, lease=LEASE)
        assert held is not None
        put(another, "k")

        assert claim(another, now=NOW + LEASE - 1) is None
        outbox.release(held, due=NOW)
        assert ["k"] == keys_of(claim(another))

    def test_holds_no_lane_of_another_holder(self, outbox: Outbox, another: Outbox) -> None:
        """Not before the request that it may have out is over: released, or past its lease."""
        put(outbox, "k")
        found = claimed(outbox)

        def hold(now: float) -> Claim | None:
            return another.hold(LANE, holder="me", now=now, lease=LEASE)

        assert hold(NOW) is None
        outbox.release(found, due=NOW + 10, failed=True)
        assert hold(NOW) is not None
        assert hold(NOW) is not None, "its own it can take again"
        assert outbox.hold(LANE, holder="other", now=NOW + LEASE, lease=LEASE) is not None

    def test_a_hold_is_a_lease(self, outbox: Outbox) -> None:
        """One that nobody renews ends, and what waits is delivered."""
        held = outbox.hold(LANE, holder="me", now=NOW, lease=LEASE)
        assert held is not None
        put(outbox, "k")
        assert outbox.renew(held, now=NOW + LEASE, lease=LEASE)

        assert claim(outbox, now=NOW + LEASE + 1) is None
        assert ["k"] == keys_of(claim(outbox, now=NOW + 2 * LEASE))
        assert not outbox.renew(held, now=NOW + 2 * LEASE, lease=LEASE)

    def test_a_released_lane_without_messages_is_idle(self, outbox: Outbox) -> None:
        """Nothing is due in it."""
        held = outbox.hold(LANE, holder="me", now=NOW, lease=LEASE)
        assert held is not None
        outbox.release(held, due=NOW)
        put(outbox, "k", now=NOW + 5)

        assert NOW + 5 == outbox.next_due(SERVER)

    def test_hands_out_in_the_order_of_acceptance(self, outbox: Outbox, another: Outbox) -> None:
        """Messages of a lane come out in the order in which they went in."""
        put(outbox, "c", "a")
        put(another, "b")
        put(outbox, "d")

        found = claimed(outbox)
        assert ["c", "a", "b", "d"] == keys_of(found)
        assert numbers_of(found) == sorted(set(numbers_of(found)))

    def test_claims_the_lane_that_has_been_due_longest(self, outbox: Outbox) -> None:
        """Every lane has its turn: first the one that has waited longest."""
        put(outbox, "late", lane=LANE, now=NOW + 2)
        put(outbox, "early", lane=OTHER_LANE, now=NOW + 1)
        put(outbox, "more", lane=OTHER_LANE, now=NOW + 3)

        assert ["early", "more"] == keys_of(claim(outbox, now=NOW + 4))
        assert ["late"] == keys_of(claim(outbox, now=NOW + 4))
        assert claim(outbox, now=NOW + 4) is None

    def test_a_lane_has_one_holder(self, outbox: Outbox, another: Outbox) -> None:
        """A claimed lane is nobody else's before the lease is over, and not with new rows."""
        put(outbox, "a")
        claimed(outbox, holder="one")
        put(outbox, "b")

        assert claim(another, holder="two", now=NOW + LEASE - 1) is None
        assert another.next_due(SERVER) == NOW + LEASE

    def test_a_vanished_holder_frees_the_lane(self, outbox: Outbox, another: Outbox) -> None:
        """What a dead holder had is claimable after the lease, and is in doubt."""
        put(outbox, "a")
        claimed(outbox, holder="dead")
        put(outbox, "b")

        found = claimed(another, holder="alive", now=NOW + LEASE)

        assert "alive" == found.holder
        assert [("a", True), ("b", False)] == [
            (row.message.key, row.doubtful) for row in found.rows
        ]

    def test_only_what_was_handed_out_is_doubtful(self, outbox: Outbox) -> None:
        """The doubt belongs to a message, not to its lane, and outlives a release."""
        put(outbox, "a", "b")
        first = claimed(outbox, limit=1)
        assert [False] == [row.doubtful for row in first.rows]

        outbox.release(first, due=NOW)

        assert [True, False] == [row.doubtful for row in claimed(outbox).rows]

    def test_claims_at_most_limit(self, outbox: Outbox) -> None:
        """A claim hands out the oldest messages, as many as asked for."""
        put(outbox, "a", "b", "c")

        assert ["a", "b"] == keys_of(claim(outbox, limit=2))

    @pytest.mark.parametrize(("max_bytes", "count"), [(1, 1), (19, 1), (20, 2), (29, 2), (30, 3)])
    def test_claims_at_most_max_bytes(self, outbox: Outbox, max_bytes: int, count: int) -> None:
        """A claim stays below so many bytes of UTF-8, but is never empty."""
        outbox.put(LANE, [draft(key, "\u00e4" * 5) for key in "abc"], now=NOW)

        assert len(claimed(outbox, max_bytes=max_bytes).rows) == count

    def test_never_claims_a_lane_without_waiting_rows(self, outbox: Outbox) -> None:
        """Where everything is delivered or set aside, there is nothing to claim."""
        put(outbox, "a", "b")
        found = claimed(outbox)
        number, other = numbers_of(found)
        outbox.delivered(found, [number], now=NOW)
        outbox.set_aside(found, {other: "too long"}, now=NOW)
        assert outbox.next_due(SERVER) is None

        outbox.release(found, due=NOW)

        assert outbox.next_due(SERVER) is None
        assert claim(outbox, now=NOW + DAY) is None

    def test_never_claims_what_a_vanished_holder_delivered(self, outbox: Outbox) -> None:
        """A holder that vanished after its delivery leaves a lane that is idle."""
        put(outbox, "a")
        found = claimed(outbox)
        outbox.delivered(found, numbers_of(found), now=NOW)

        assert claim(outbox, now=NOW + LEASE) is None
        outbox.tidy(now=NOW + LEASE)

        assert not outbox.renew(found, now=NOW + LEASE, lease=LEASE)
        put(outbox, "b", now=NOW + LEASE + 1)
        assert outbox.next_due(SERVER) == NOW + LEASE + 1

    def test_leaves_other_servers_alone(self, outbox: Outbox) -> None:
        """Messages for another server wait there, and are counted as elsewhere."""
        elsewhere = Lane("http://127.0.0.1:9000", "workspace", "session")
        put(outbox, "a", "b", lane=elsewhere)
        put(outbox, "c")

        assert ["c"] == keys_of(claim(outbox))
        assert claim(outbox) is None
        assert outbox.tally(SERVER) == Tally(waiting=1, elsewhere=2)
        assert outbox.tally(elsewhere.server) == Tally(waiting=2, elsewhere=1)
        assert outbox.next_due("http://127.0.0.1:7000") is None

    def test_renews_a_lease(self, outbox: Outbox, another: Outbox) -> None:
        """A holder keeps its lane for as long as it renews."""
        put(outbox, "a")
        found = claimed(outbox)

        assert outbox.renew(found, now=NOW + 50, lease=LEASE)

        assert claim(another, holder="other", now=NOW + LEASE) is None
        assert another.next_due(SERVER) == NOW + 50 + LEASE

    def test_renews_a_lease_that_ran_out_unclaimed(self, outbox: Outbox) -> None:
        """A holder that overslept keeps its lane when nobody has claimed it since."""
        put(outbox, "a")
        found = claimed(outbox)

        assert outbox.renew(found, now=NOW + 2 * LEASE, lease=LEASE)
        assert claim(outbox, holder="other", now=NOW + 2 * LEASE) is None

    def test_a_lost_lane_is_not_renewed_nor_released(self, outbox: Outbox, another: Outbox) -> None:
        """A holder that overslept changes nothing for the one who holds the lane now."""
        put(outbox, "a")
        lost = claimed(outbox, holder="slow")
        held = claimed(another, holder="quick", now=NOW + LEASE)

        assert not outbox.renew(lost, now=NOW + LEASE, lease=9 * LEASE)
        outbox.release(lost, due=NOW, failed=True)

        assert claim(outbox, holder="third", now=NOW + LEASE) is None
        assert outbox.next_due(SERVER) == NOW + 2 * LEASE
        another.release(held, due=NOW + LEASE)
        assert claimed(outbox, now=NOW + LEASE).failures == 0
        assert not another.renew(held, now=NOW + LEASE, lease=LEASE)

    def test_claims_of_a_lane_that_is_not_there_do_nothing(self, outbox: Outbox) -> None:
        """Whatever is reported about a lane that the outbox has not, nothing happens."""
        stray = Claim(LANE, "holder", (), 0)

        assert not outbox.renew(stray, now=NOW, lease=LEASE)
        outbox.delivered(stray, [1], now=NOW)
        outbox.set_aside(stray, {1: "too long"}, now=NOW)
        outbox.release(stray, due=NOW)

        assert outbox.tally(SERVER) == Tally()

    # Ends

    def test_a_lost_holder_still_reports_a_delivery(self, outbox: Outbox, another: Outbox) -> None:
        """What is in Honcho is in Honcho, whoever has seen it."""
        put(outbox, "a", "b")
        lost = claimed(outbox, holder="slow", limit=1)
        held = claimed(another, holder="quick", now=NOW + LEASE)

        outbox.delivered(lost, numbers_of(lost), now=NOW + LEASE)

        assert another.tally(SERVER) == Tally(waiting=1)
        another.release(held, due=NOW + LEASE)
        assert ["b"] == keys_of(claim(another, now=NOW + LEASE))

    def test_a_lost_holder_empties_a_lane(self, outbox: Outbox, another: Outbox) -> None:
        """A late report of the last delivery leaves a lane that nobody holds idle."""
        put(outbox, "a")
        lost = claimed(outbox, holder="slow")
        held = claimed(another, holder="quick", now=NOW + LEASE)
        another.release(held, due=NOW + 2 * LEASE, failed=True)

        outbox.delivered(lost, numbers_of(lost), now=NOW + LEASE)

        assert outbox.next_due(SERVER) is None
        put(outbox, "b", now=NOW + LEASE)
        assert outbox.next_due(SERVER) == NOW + LEASE

    def test_a_lost_holder_still_sets_aside(self, outbox: Outbox, another: Outbox) -> None:
        """What Honcho refuses it refuses, whoever has seen it."""
        put(outbox, "a")
        lost = claimed(outbox, holder="slow")
        held = claimed(another, holder="quick", now=NOW + LEASE)
        another.release(held, due=NOW + LEASE)

        outbox.set_aside(lost, {numbers_of(lost)[0]: "too long"}, now=NOW + LEASE)

        assert another.tally(SERVER) == Tally(set_aside=1)
        assert another.next_due(SERVER) is None

    def test_ends_are_idempotent(self, make_outbox: MakeOutbox) -> None:
        """Saying twice that a message is delivered or refused says it once."""
        outbox = make_outbox(max_messages=3)
        put(outbox, "a", "b", "c")
        found = claimed(outbox)
        first, second, third = numbers_of(found)
        for reason in ("first reason", "second reason"):
            outbox.delivered(found, [first, first], now=NOW)
            outbox.set_aside(found, {second: reason}, now=NOW)

        assert outbox.tally(SERVER) == Tally(waiting=1, set_aside=1)
        assert ["first reason"] == [each.reason for each in outbox.refused(SERVER)]
        with pytest.raises(OutboxFull):
            put(outbox, "d", "e")
        outbox.delivered(found, [third], now=NOW)

    def test_delivery_settles_what_was_set_aside(self, outbox: Outbox) -> None:
        """A message that turns out to be in Honcho is delivered, and is not refused later."""
        put(outbox, "a")
        found = claimed(outbox)
        reasons = dict.fromkeys(numbers_of(found), "too long")
        outbox.set_aside(found, reasons, now=NOW)

        outbox.delivered(found, numbers_of(found), now=NOW)
        outbox.set_aside(found, reasons, now=NOW)

        assert outbox.tally(SERVER) == Tally()
        assert {"a"} == outbox.known(LANE, ["a"])

    def test_ends_concern_the_lane_of_the_claim(self, outbox: Outbox) -> None:
        """A holder cannot report messages of a lane that it never held."""
        put(outbox, "a")
        put(outbox, "b", lane=OTHER_LANE, now=NOW + 1)
        found = claimed(outbox)
        other = claimed(outbox, now=NOW + 1)

        outbox.delivered(found, numbers_of(other), now=NOW)
        outbox.set_aside(found, dict.fromkeys(numbers_of(other), "too long"), now=NOW)

        assert outbox.tally(SERVER) == Tally(waiting=2)

    def test_counts_failures_in_a_row(self, outbox: Outbox) -> None:
        """Each failed release is counted, a plain one is not, and a delivery ends the row."""
        put(outbox, "a", "b")
        for failed, failures in [(True, 0), (True, 1), (False, 2), (False, 2)]:
            found = claimed(outbox)
            assert failures == found.failures
            outbox.release(found, due=NOW, failed=failed)
        found = claimed(outbox)
        outbox.set_aside(found, {numbers_of(found)[0]: "too long"}, now=NOW)
        outbox.release(found, due=NOW)
        found = claimed(outbox)
        assert found.failures == 2

        outbox.delivered(found, numbers_of(found), now=NOW)
        outbox.release(found, due=NOW)

        put(outbox, "c")
        assert claimed(outbox).failures == 0

    def test_backs_off_until_due(self, outbox: Outbox) -> None:
        """A released lane rests until its time, also when a turn arrives meanwhile."""
        put(outbox, "a")
        outbox.release(claimed(outbox), due=NOW + 30, failed=True)
        put(outbox, "b", now=NOW + 1)

        assert outbox.next_due(SERVER) == NOW + 30
        assert claim(outbox, now=NOW + 29) is None
        assert ["a", "b"] == keys_of(claim(outbox, now=NOW + 30))

    def test_a_put_into_an_idle_lane_is_due_at_once(self, outbox: Outbox) -> None:
        """A lane in which nothing waited does not make its next message wait."""
        put(outbox, "a")
        found = claimed(outbox)
        outbox.delivered(found, numbers_of(found), now=NOW)
        outbox.release(found, due=NOW + 30)

        put(outbox, "b", now=NOW + 5)

        assert outbox.next_due(SERVER) == NOW + 5

    def test_next_due_is_the_earliest(self, outbox: Outbox) -> None:
        """Whoever delivers may sleep until the first lane is due."""
        assert outbox.next_due(SERVER) is None
        put(outbox, "a", now=NOW + 5)
        put(outbox, "b", lane=OTHER_LANE, now=NOW + 3)

        assert outbox.next_due(SERVER) == NOW + 3
        claimed(outbox, now=NOW + 4)
        assert outbox.next_due(SERVER) == NOW + 5

    @pytest.mark.parametrize("release", [True, False])
    def test_a_clock_that_was_put_back_stops_no_lane(self, outbox: Outbox, release: bool) -> None:
        """A lane waits an hour at most, when the clock that gave it its time was wrong."""
        put(outbox, "a", now=NOW + DAY)
        put(outbox, "b", lane=OTHER_LANE, now=NOW + DAY)
        found = claimed(outbox, now=NOW + DAY)
        if release:
            outbox.release(found, due=NOW + DAY + 30)

        assert claim(outbox, now=NOW) is None
        assert outbox.next_due(SERVER) == NOW + 3600

        assert ["a"] == keys_of(claim(outbox, now=NOW + 3600))
        assert ["b"] == keys_of(claim(outbox, now=NOW + 3600))

    # What was set aside

    def test_lists_what_was_set_aside(self, outbox: Outbox, another: Outbox) -> None:
        """Refused messages can be seen with the reason, in order, for one server."""
        elsewhere = Lane("http://127.0.0.1:9000", "workspace", "session")
        put(outbox, "a", lane=OTHER_LANE)
        put(outbox, "b")
        put(outbox, "c", lane=elsewhere)
        found = [claimed(outbox), claimed(outbox), claimed(outbox, server=elsewhere.server)]
        for each in reversed(found):
            outbox.set_aside(each, {numbers_of(each)[0]: each.lane.session}, now=NOW)

        listed = another.refused(SERVER)

        assert [draft("a").message, draft("b").message] == [each.message for each in listed]
        assert [OTHER_LANE, LANE] == [each.lane for each in listed]
        assert ["other-session", "session"] == [each.reason for each in listed]
        assert [each.number for each in listed] == [numbers_of(each)[0] for each in found[:2]]
        assert another.tally(SERVER) == Tally(set_aside=2)

    def test_lists_what_waits(self, outbox: Outbox, another: Outbox) -> None:
        """Waiting messages can be seen in order, for one server, with when they came."""
        elsewhere = Lane("http://127.0.0.1:9000", "workspace", "session")
        put(outbox, "a", lane=OTHER_LANE, now=NOW)
        put(outbox, "b", now=NOW + 1)
        put(outbox, "c", lane=elsewhere)

        listed = another.queued(SERVER)

        assert [draft("a").message, draft("b").message] == [each.message for each in listed]
        assert [OTHER_LANE, LANE] == [each.lane for each in listed]
        assert [NOW, NOW + 1] == [each.accepted_at for each in listed]

    def test_lists_the_servers(self, outbox: Outbox, another: Outbox) -> None:
        """What waits for another address can be found; where nothing is left is not named."""
        for port in (3, 1, 2):
            put(outbox, "a", lane=Lane(f"http://127.0.0.1:{port}", "workspace", "session"))
        deliver_to = claimed(outbox, server="http://127.0.0.1:2")
        outbox.delivered(deliver_to, numbers_of(deliver_to), now=NOW)
        refused = claimed(outbox, server="http://127.0.0.1:3")
        outbox.set_aside(refused, {numbers_of(refused)[0]: "too long"}, now=NOW)

        assert ["http://127.0.0.1:1", "http://127.0.0.1:3"] == another.servers()

    def test_retries_in_the_original_order(self, outbox: Outbox, another: Outbox) -> None:
        """What is retried goes before what came later, and Honcho is asked about it."""
        put(outbox, "a", "b", now=NOW)
        numbers = refuse(outbox)
        put(outbox, "c", now=NOW + 2)

        assert another.retry([*reversed(numbers), 999_999], now=NOW + 3) == 2

        assert outbox.refused(SERVER) == []
        assert [("a", True), ("b", True), ("c", False)] == [
            (row.message.key, row.doubtful) for row in claimed(outbox, now=NOW + 3).rows
        ]

    def test_a_retry_makes_an_idle_lane_due(self, outbox: Outbox) -> None:
        """What is retried is due at once, and does not shorten a back-off."""
        put(outbox, "a")
        numbers = refuse(outbox)
        assert outbox.retry(numbers, now=NOW + 5) == 1
        assert outbox.next_due(SERVER) == NOW + 5

        put(outbox, "b")
        found = claimed(outbox, now=NOW + 5)
        outbox.set_aside(found, {numbers[0]: "too long"}, now=NOW)
        outbox.release(found, due=NOW + 30, failed=True)
        outbox.retry(numbers, now=NOW + 6)
        assert outbox.next_due(SERVER) == NOW + 30

    def test_retries_only_what_was_set_aside(self, outbox: Outbox) -> None:
        """What waits or was delivered cannot be retried or discarded."""
        put(outbox, "a", "b")
        found = claimed(outbox, limit=1)
        outbox.delivered(found, numbers_of(found), now=NOW)
        numbers = [*numbers_of(found), numbers_of(found)[0] + 1, 10**30]

        assert outbox.retry([], now=NOW) == outbox.discard([], now=NOW) == 0
        assert outbox.retry(numbers[:2], now=NOW) == outbox.discard(numbers[:2], now=NOW) == 0
        assert outbox.tally(SERVER) == Tally(waiting=1)

    def test_discards(self, outbox: Outbox, another: Outbox) -> None:
        """A discarded message is gone for good, and its thread does not bring it back."""
        put(outbox, "a", "b")
        first, _ = refuse(outbox)

        assert another.discard([first, first, 999_999], now=NOW) == 1

        assert ["b"] == [each.message.key for each in outbox.refused(SERVER)]
        assert {"a", "b"} == outbox.known(LANE, ["a", "b"])
        assert put(outbox, "a") == outbox.retry([first], now=NOW) == 0

    # Marks, tidying, closing

    def test_remembers_marks(self, outbox: Outbox, another: Outbox) -> None:
        """A value is remembered by server and name, and the last one counts."""
        assert outbox.marked(SERVER, "assistant") is None
        outbox.mark(SERVER, "assistant", "first")
        outbox.mark(SERVER, "assistant", "second")

        assert another.marked(SERVER, "assistant") == "second"
        assert another.marked("http://127.0.0.1:9000", "assistant") is None
        assert another.marked(SERVER, "other") is None

    def test_keeps_the_newest_keys(self, outbox: Outbox) -> None:
        """A lane keeps the keys of its last 50 messages that are gone, and of all others."""
        put(outbox, "set aside")
        refuse(outbox)
        keys = [f"k{number}" for number in range(120)]
        put(outbox, *keys)
        put(outbox, "waiting")
        put(outbox, "a", lane=OTHER_LANE)
        for limit in (70, 50):
            found = claimed(outbox, limit=limit)
            outbox.delivered(found, reversed(numbers_of(found)), now=NOW)  # type: ignore[arg-type]  # any iterable will do
            outbox.release(found, due=NOW - 1)

        outbox.tidy(now=NOW)

        everything = ["set aside", *keys, "waiting"]
        assert {"set aside", *keys[-50:], "waiting"} == outbox.known(LANE, everything)

    def test_keeps_keys_for_30_days(self, outbox: Outbox) -> None:
        """Keys of messages that are gone are forgotten after 30 days; other keys never."""
        put(outbox, "set aside")
        refuse(outbox)
        put(outbox, "discarded")
        outbox.discard(refuse(outbox), now=NOW)
        put(outbox, "old")
        deliver(outbox)
        put(outbox, "recent")
        deliver(outbox, now=NOW + DAY)
        put(outbox, "waiting")
        keys = ["set aside", "discarded", "old", "recent", "waiting"]

        outbox.tidy(now=NOW + 30 * DAY)
        assert set(keys) == outbox.known(LANE, keys)

        outbox.tidy(now=NOW + 30 * DAY + 1)
        assert {"set aside", "recent", "waiting"} == outbox.known(LANE, keys)
        assert put(outbox, "old") == 1

    def test_never_gives_a_number_twice(self, outbox: Outbox) -> None:
        """A late report cannot hit a message that was accepted after its own was forgotten."""
        put(outbox, "a")
        late = claimed(outbox)
        outbox.delivered(late, numbers_of(late), now=NOW)
        outbox.release(late, due=NOW)
        outbox.tidy(now=NOW + 31 * DAY)
        put(outbox, "b", now=NOW + 31 * DAY)

        outbox.delivered(late, numbers_of(late), now=NOW + 31 * DAY)

        assert outbox.tally(SERVER) == Tally(waiting=1)

    def test_closes(self, outbox: Outbox) -> None:
        """A closed outbox says so, whatever it is asked, and can be closed again."""
        put(outbox, "a")
        found = claimed(outbox)
        outbox.close()
        outbox.close()

        calls: list[Callable[[], object]] = [
            lambda: outbox.known(LANE, ["a"]),
            lambda: put(outbox, "b"),
            lambda: outbox.drop(LANE, ["a"], now=NOW),
            lambda: claim(outbox),
            lambda: outbox.renew(found, now=NOW, lease=LEASE),
            lambda: outbox.delivered(found, [1], now=NOW),
            lambda: outbox.set_aside(found, {1: "too long"}, now=NOW),
            lambda: outbox.release(found, due=NOW),
            lambda: outbox.next_due(SERVER),
            lambda: outbox.tally(SERVER),
            lambda: outbox.refused(SERVER),
            lambda: outbox.queued(SERVER),
            outbox.servers,
            lambda: outbox.retry([1], now=NOW),
            lambda: outbox.discard([1], now=NOW),
            lambda: outbox.mark(SERVER, "a", "b"),
            lambda: outbox.marked(SERVER, "a"),
            lambda: outbox.tidy(now=NOW),
        ]
        for call in calls:
            with pytest.raises(OutboxUnavailable, match="closed"):
                call()

    def test_is_safe_for_threads(self, outbox: Outbox, another: Outbox) -> None:
        """Threads that put and claim at once lose nothing, mix nothing up, share no lane."""
        lanes = [Lane(SERVER, "workspace", f"session-{number}") for number in range(4)]
        outboxes = [outbox, another, outbox, another]

        def put_all(lane: Lane, mine: Outbox) -> int:
            return sum(mine.put(lane, [draft(f"k{i}")], now=NOW) for i in range(20))

        def carry(holder: str, mine: Outbox) -> list[tuple[Lane, int, str]]:
            carried: list[tuple[Lane, int, str]] = []
            while len(carried) < 20:
                found = mine.claim(
                    SERVER, holder=holder, now=NOW, lease=LEASE, limit=5, max_bytes=100
                )
                if found is not None:
                    rows = found.rows[: 20 - len(carried)]
                    carried += [(found.lane, row.number, row.message.key) for row in rows]
                    mine.delivered(found, [row.number for row in rows], now=NOW)
                    mine.release(found, due=NOW)
            return carried

        with ThreadPoolExecutor(8) as pool:
            puts = [
                pool.submit(put_all, lane, mine) for lane, mine in zip(lanes, outboxes, strict=True)
            ]
            trips = [pool.submit(carry, f"h{i}", mine) for i, mine in enumerate(outboxes)]
            assert [20] * 4 == [each.result() for each in puts]
            carried = sorted(
                (row for trip in trips for row in trip.result()), key=lambda row: row[1]
            )

        assert outbox.tally(SERVER) == Tally()
        for lane in lanes:
            assert [f"k{i}" for i in range(20)] == [row[2] for row in carried if row[0] == lane]
