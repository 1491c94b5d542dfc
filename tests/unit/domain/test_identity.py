from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.domain.identity import (
    MAX_ID_LENGTH,
    Identities,
    User,
    digest,
    sanitize,
    stable_id,
)

GRAMMAR = re.compile(r"^[a-zA-Z0-9_-]+\Z")
LONGEST_PREFIX = {8: 43, 32: 68}

any_text = st.text(st.characters(codec=None), max_size=120)
awkward = st.one_of(
    st.text("aB1_-.@ /é用\ud800\n", max_size=120),
    st.sampled_from(
        ["-", "!!!", "---a", "a" * 64, "x" * 47 + "--y", "a" * 48 + "-", "-" * 70 + "z"]
    ),
    st.uuids().map(str),
)
raw_ids = st.one_of(any_text, awkward)
valid_text = st.one_of(st.text(max_size=120), awkward.filter(lambda text: "\ud800" not in text))
digest_lengths = st.sampled_from([8, 32])
prefixes = st.sampled_from(["", "deerflow-u-", "-", "_x-", "p" * 42 + "-", "p" * 68])


def spec_sanitize(raw: str) -> str:
    """The specification's: what is outside the grammar becomes one dash, at most 64 of it."""
    folded, outside = "", False
    for character in raw:
        inside = character.isascii() and (character.isalnum() or character in "_-")
        if inside:
            folded += character
        elif not outside:
            folded += "-"
        outside = not inside
    return folded.strip("-")[:64]


def spec_stable_id(raw: str) -> str:
    """The specification's formula, on strings that are valid Unicode."""
    tail = hashlib.sha256(raw.encode("utf-8")).hexdigest()[:8]
    readable = spec_sanitize(raw)[:48].rstrip("-")
    return f"{readable}-{tail}" if readable else tail


def found(user: User | None) -> User:
    assert user is not None
    return user


@given(raw_ids, raw_ids, digest_lengths, prefixes)
@example("x" * 200, "y" * 200, 8, "p" * 43)
@example("x" * 200, "y" * 200, 32, "p" * 68)
def test_every_id_is_one_that_honcho_takes(
    user_id: str, thread_id: str, digest_chars: int, prefix: str
) -> None:
    """Whatever ids a host has, Honcho gets valid ones of at most 100 characters."""
    prefix = prefix[: LONGEST_PREFIX[digest_chars]]
    identities = Identities(workspace_prefix=prefix, digest_chars=digest_chars)
    session = identities.session(thread_id)

    assert GRAMMAR.match(session)
    assert len(session) <= MAX_ID_LENGTH
    user = identities.user(user_id)
    assert (user is None) == (user_id == "")
    for made in (user.workspace, user.peer) if user else ():
        assert GRAMMAR.match(made)
        assert len(made) <= MAX_ID_LENGTH


@given(valid_text.filter(bool), prefixes.map(lambda prefix: prefix[:43]))
@example("user.name@x", "deerflow-u-")
@example("!!!", "deerflow-u-")
def test_ids_are_those_of_the_built_in_backend(raw: str, prefix: str) -> None:
    """A DeerFlow that switches over finds the memory of its users and threads again."""
    identities = Identities(workspace_prefix=prefix)
    user = found(identities.user(raw))

    assert prefix + spec_stable_id(raw) == user.workspace
    assert spec_stable_id(raw) == user.peer
    assert "df-" + spec_stable_id(raw) == identities.session(raw)
    assert spec_sanitize(raw) == sanitize(raw)


@pytest.mark.parametrize(
    ("expected", "raw"),
    [
        ("alice-2bd806c9", "alice"),
        ("user-name-x-5949a6ab", "user.name@x"),
        ("user-name-x-c3081889", "user-name@x"),
        ("e84c538e", "!!!"),
        ("t-1-61a4dd05", "t.1"),
    ],
)
def test_known_ids_stay(expected: str, raw: str) -> None:
    """Ids that are in use somewhere never change."""
    assert expected == stable_id(raw)


@given(raw_ids, raw_ids, digest_lengths, prefixes)
def test_equal_ids_imply_equal_digests(
    one: str, other: str, digest_chars: int, prefix: str
) -> None:
    """Two people share a memory only when a digest of their ids is the same."""
    identities = Identities(
        workspace_prefix=prefix[: LONGEST_PREFIX[digest_chars]], digest_chars=digest_chars
    )
    for raw in (one, other):
        tail = digest(raw, digest_chars)
        user = identities.user(raw)
        assert identities.session(raw).endswith(tail)
        assert user is None or (user.peer.endswith(tail) and user.workspace.endswith(tail))


@given(st.sets(raw_ids.filter(bool), max_size=60), digest_lengths, prefixes)
def test_no_two_users_or_threads_meet(raws: set[str], digest_chars: int, prefix: str) -> None:
    """Ids that differ in one character outside the grammar are still two people."""
    identities = Identities(
        workspace_prefix=prefix[: LONGEST_PREFIX[digest_chars]], digest_chars=digest_chars
    )
    users = [found(identities.user(raw)) for raw in raws]

    assert len(raws) == len({user.workspace for user in users})
    assert len(raws) == len({user.peer for user in users})
    assert len(raws) == len({identities.session(raw) for raw in raws})


@pytest.mark.parametrize(("one", "other"), [("user.name@x", "user-name@x"), ("t.1", "t-1")])
def test_ids_that_read_alike_are_told_apart(one: str, other: str) -> None:
    """What is folded into the same readable part differs in its digest."""
    assert sanitize(one) == sanitize(other)
    assert stable_id(one) != stable_id(other)


@given(raw_ids, digest_lengths)
def test_an_id_is_always_the_same(raw: str, digest_chars: int) -> None:
    """Another process with the same settings finds the same memory."""
    one, other = Identities(digest_chars=digest_chars), Identities(digest_chars=digest_chars)

    assert one.user(raw) == other.user("".join(raw))
    assert one.session(raw) == other.session("".join(raw))


@given(raw_ids, digest_lengths, st.integers(0, MAX_ID_LENGTH))
def test_a_stable_id_fits(raw: str, digest_chars: int, room: int) -> None:
    """The readable part gives way, the digest never does."""
    length = max(digest_chars, room)
    made = stable_id(raw, digest_chars=digest_chars, max_length=length)

    assert len(made) <= length
    assert made.endswith(digest(raw, digest_chars))
    assert GRAMMAR.match(made)


@given(any_text, st.characters(categories=["Cs"]), any_text, digest_lengths)
def test_a_lone_surrogate_is_no_obstacle(
    before: str, surrogate: str, after: str, digest_chars: int
) -> None:
    """An id that is not even valid Unicode has a memory of its own."""
    identities = Identities(digest_chars=digest_chars)
    user = found(identities.user(before + surrogate + after))

    assert user != found(identities.user(f"{before}?{after}"))
    assert user != identities.user(before + after)


@given(st.uuids().map(str), digest_lengths)
def test_the_thread_of_a_session_is_known_for_uuids(thread_id: str, digest_chars: int) -> None:
    """DeerFlow's thread ids are UUIDs, so a fact can link to the conversation it came from."""
    identities = Identities(digest_chars=digest_chars)

    assert thread_id == identities.thread(identities.session(thread_id))


@given(raw_ids, digest_lengths)
def test_a_thread_that_is_read_back_is_the_right_one(raw: str, digest_chars: int) -> None:
    """No link is better than one to somebody else's conversation."""
    identities = Identities(digest_chars=digest_chars)

    assert identities.thread(identities.session(raw)) in (raw, None)


@given(st.one_of(any_text, raw_ids.map(lambda raw: "df-" + raw)), digest_lengths)
def test_a_session_of_another_program_has_no_thread(session: str, digest_chars: int) -> None:
    """Only an id that was derived from a thread id is read as one."""
    identities = Identities(digest_chars=digest_chars)
    thread = identities.thread(session)

    assert thread is None or session == identities.session(thread)


@pytest.mark.parametrize("user_id", [None, "", "default", "guest"])
def test_nobody_has_no_memory(user_id: str | None) -> None:
    """Without a user nothing may fall into a memory that others share."""
    identities = Identities(
        anonymous_user_ids=frozenset({"default", "guest"}),
        workspace_overrides={"default": "shared", "": "shared"},
    )

    assert identities.user(user_id) is None


def test_an_id_is_anonymous_only_when_named() -> None:
    """DeerFlow without authentication has one user, `default`, and that user a memory."""
    assert Identities().user("default") == User(
        "deerflow-u-" + spec_stable_id("default"), spec_stable_id("default")
    )


@given(raw_ids.filter(bool), raw_ids.filter(bool), digest_lengths)
def test_overrides_are_for_the_users_they_name(one: str, other: str, digest_chars: int) -> None:
    """An override is matched by the raw id, so it never catches an id that reads alike."""
    assume(one != other)
    plain = Identities(digest_chars=digest_chars)
    overridden = Identities(
        workspace_overrides={one: "team"},
        user_peer_overrides={one: "captain"},
        digest_chars=digest_chars,
    )

    assert User("team", "captain") == overridden.user(one)
    assert plain.user(other) == overridden.user(other)


@given(st.one_of(st.text(max_size=8), st.text("ab_-9", min_size=95, max_size=105)))
@example("")
@example("a\n")
@example("x" * 100)
@example("x" * 101)
def test_ids_that_an_operator_gives_are_checked(value: str) -> None:
    """Honcho would answer a bad id with a 500 on every write; the start is where to say so."""
    assume(not re.search(r"(^|-)[0-9a-f]{8}\Z", value))
    assume(value != Identities().assistant_peer)  # which no user may have
    valid = 1 <= len(value) <= 100 and GRAMMAR.match(value) is not None
    for name, given_ids in {
        "assistant_peer": {"assistant_peer": value},
        "workspace_overrides['u']": {"workspace_overrides": {"u": value}},
        "user_peer_overrides['u']": {"user_peer_overrides": {"u": value}},
    }.items():
        if valid:
            assert Identities(**given_ids)  # type: ignore[arg-type]
        else:
            with pytest.raises(ConfigurationError, match=re.escape(name)):
                Identities(**given_ids)  # type: ignore[arg-type]


@pytest.mark.parametrize("digest_chars", [8, 32])
def test_the_longest_prefix_leaves_room_for_what_follows(digest_chars: int) -> None:
    """A prefix that makes an id too long is refused, one that just fits is not."""
    longest = "p" * LONGEST_PREFIX[digest_chars]
    user = found(Identities(workspace_prefix=longest, digest_chars=digest_chars).user("u" * 99))

    assert MAX_ID_LENGTH == len(user.workspace)
    with pytest.raises(ConfigurationError, match=f"at most {len(longest)} characters"):
        Identities(workspace_prefix=longest + "p", digest_chars=digest_chars)


@pytest.mark.parametrize("prefix", ["a.b", "a b", "é", "scope.", "a\n"])
def test_a_prefix_outside_the_grammar_is_refused(prefix: str) -> None:
    """Every derived workspace would be invalid."""
    with pytest.raises(ConfigurationError, match="workspace_prefix must consist of"):
        Identities(workspace_prefix=prefix)


def test_a_prefix_may_be_empty() -> None:
    """A Honcho that serves nothing else needs no prefix."""
    assert stable_id("ada") == found(Identities(workspace_prefix="").user("ada")).workspace


@pytest.mark.parametrize("digest_chars", [0, 7, 9, 16, 64])
def test_a_digest_has_8_or_32_characters(digest_chars: int) -> None:
    """Every length is another set of memories, so there are only two."""
    with pytest.raises(ConfigurationError, match="id_digest_chars must be 8 or 32"):
        Identities(digest_chars=digest_chars)


def test_a_user_who_is_the_assistant_is_refused() -> None:
    """What the user says must not count as said by the assistant."""
    with pytest.raises(ConfigurationError, match=r"user_peer_overrides\['ada'\].*assistant_peer"):
        Identities(user_peer_overrides={"ada": "bot"}, assistant_peer="bot")


@given(raw_ids.filter(bool), digest_lengths)
def test_no_user_is_derived_to_be_the_assistant(user_id: str, digest_chars: int) -> None:
    """An assistant peer that some user id could lead to is refused, whoever the users are."""
    peer = stable_id(user_id, digest_chars=digest_chars)

    with pytest.raises(ConfigurationError, match="assistant_peer must not end like"):
        Identities(assistant_peer=peer, digest_chars=digest_chars)


@pytest.mark.parametrize("peer", ["deerflow", "agent-7", "bot-2026-08", "cafe", "x-ABCDEF01"])
def test_an_ordinary_name_of_the_assistant_is_taken(peer: str) -> None:
    """Only what ends like a digest could be a user."""
    assert peer == Identities(assistant_peer=peer).assistant_peer
