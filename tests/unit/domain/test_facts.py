"""Facts, and the ledger of what they have beyond their conclusions."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honcho_memory.domain.errors import InvalidFact
from honcho_memory.domain.facts import (
    LEDGER_KEY,
    LONGEST_FACT,
    Entry,
    FactDraft,
    Ledger,
    draft_of,
    sameness,
)
from honcho_memory.domain.identity import Identities
from honcho_memory.domain.messages import Conclusion
from honcho_memory.domain.results import Fact

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EARLIER = NOON - timedelta(days=1)
IDENTITIES = Identities()
THREAD = "8f1a2c64"


def conclusion(conclusion_id: str, session: str | None = None) -> Conclusion:
    return Conclusion(conclusion_id, f"says {conclusion_id}", "ada", session, NOON)


def test_a_conclusion_is_a_fact_of_its_own_id() -> None:
    """Nobody has given it a category or a confidence."""
    session = IDENTITIES.session(THREAD)

    assert Fact("c1", "says c1", "context", 0.5, NOON, THREAD) == Ledger().fact(
        conclusion("c1", session), IDENTITIES
    )


def test_an_entry_says_more_than_the_conclusion() -> None:
    """Of a fact that was changed: its own id and time, and where it came from."""
    entry = Entry("c2", "goal", 0.9, EARLIER, IDENTITIES.session(THREAD), replaced="c1")
    ledger = Ledger({"f": entry})

    assert Fact("f", "says c2", "goal", 0.9, EARLIER, THREAD) == ledger.fact(
        conclusion("c2"), IDENTITIES
    )


@pytest.mark.parametrize("gone", ["f", "c1"])
def test_what_was_replaced_is_no_fact(gone: str) -> None:
    """A conclusion that an update left behind would show a fact twice."""
    ledger = Ledger({"f": Entry("c2", replaced="c1")})

    assert ledger.fact(conclusion(gone), IDENTITIES) is None


def test_conclusions_by_category() -> None:
    """Honcho is asked for them by their ids, which are not always those of the facts."""
    ledger = Ledger({"f": Entry("c2", "goal"), "c3": Entry("c3", confidence=1.0)})

    assert {"c2"} == ledger.conclusions_of("goal")
    assert {"c2"} == ledger.conclusions_but("context")


def test_an_entry_may_say_nothing() -> None:
    """A new fact without more needs none; one that somebody gave the defaults keeps them."""
    ledger = Ledger({"c1": Entry("c1", "goal")})

    assert (False, True) == (Entry("c1").tells_something, Entry("c1", "goal").tells_something)
    assert {"c1": Entry("c1")} == ledger.having({"c1": Entry("c1")}).entries
    assert {} == ledger.without("c1").entries


def test_a_ledger_that_names_what_is_gone_hides_nothing() -> None:
    """The fact is what states it still: what it replaced, or its first conclusion."""
    there = [conclusion(each) for each in ("old", "first", "new")]
    ledger = Ledger(
        {
            "f1": Entry("gone", "goal", replaced="old"),
            "first": Entry("gone too", "goal", replaced="gone as well"),
            "f3": Entry("new", replaced="f3"),
            "f4": Entry("nowhere"),
        }
    )

    mended = ledger.mended(there)

    assert {"f1": "old", "first": "first", "f3": "new"} == {
        fact_id: entry.conclusion for fact_id, entry in mended.entries.items()
    }
    assert [("f1", "goal"), ("first", "goal"), ("f3", "context")] == [
        (fact.id, fact.category)
        for each in there
        if (fact := mended.fact(each, Identities())) is not None
    ]


@pytest.mark.parametrize(
    "moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "soon", 5]
)
def test_a_moment_that_is_none_is_left_out(moment: object) -> None:
    """What another program wrote must not make a memory unreadable."""
    own = {"cleared_at": moment, "facts": {"c1": {"conclusion": "c1", "created_at": moment}}}

    ledger = Ledger.of({LEDGER_KEY: own})

    assert (0.0, None) == (ledger.cleared_at, ledger.entries["c1"].created_at)


def test_other_programs_metadata_is_not_touched() -> None:
    """One key is ours, and goes when there is nothing to say."""
    theirs: dict[str, object] = {"theirs": {"facts": [1]}, LEDGER_KEY: "nonsense"}

    written = Ledger({"c1": Entry("c1", "goal")}, cleared_at=NOON.timestamp()).within(theirs)

    assert {"theirs": {"facts": [1]}} == Ledger().within(written)
    assert written["theirs"] == theirs["theirs"]
    assert {"c1"} == Ledger.of(written).entries.keys()


ENTRIES = st.builds(
    Entry,
    st.text(min_size=1),
    st.sampled_from(["context", "goal"]),
    st.floats(0, 1),
    st.none() | st.just(EARLIER),
    st.none() | st.just("df-t"),
    st.none() | st.just("c0"),
)


@given(st.dictionaries(st.text(min_size=1), ENTRIES), st.sampled_from([0.0, NOON.timestamp()]))
def test_what_is_written_is_read(entries: dict[str, Entry], cleared_at: float) -> None:
    """Through JSON, as Honcho keeps it."""
    written = json.loads(json.dumps(Ledger(entries, cleared_at).within({})))

    read = Ledger.of(written)

    assert (entries, cleared_at) == (read.entries, read.cleared_at)


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["facts", "cleared_at"]), JUNK)
    | st.fixed_dictionaries(
        {
            "facts": st.dictionaries(
                st.text(),
                st.dictionaries(st.sampled_from(["conclusion", "category", "created_at"]), JUNK),
            )
        }
    )
    | JUNK
)
def test_reading_is_total(junk: object) -> None:
    """Somebody else may have written anything under our key."""
    ledger = Ledger.of({LEDGER_KEY: junk})

    assert ledger.within({}) == Ledger.of(ledger.within({})).within({})


def test_a_ledger_with_a_bad_value_keeps_the_fact() -> None:
    """A fact does not lose its id because its category is nonsense."""
    raw = {"conclusion": "c2", "category": 5, "confidence": 0.9, "created_at": "2026-03-01T12:00"}

    ledger = Ledger.of({LEDGER_KEY: {"facts": {"f": raw}, "cleared_at": "yesterday"}})

    assert {"f": Entry("c2", created_at=NOON)} == ledger.entries


def test_a_draft_is_cleaned() -> None:
    """What Honcho would refuse or change is gone before it is compared with what is there."""
    assert FactDraft("likes tea", "context", 0.5) == draft_of(" likes\x00 tea\n", " ", None)
    assert FactDraft("likes tea", "habit", 1.0) == draft_of("likes tea", " habit", 1)


@pytest.mark.parametrize(
    ("content", "category", "confidence", "field"),
    [
        (None, None, None, "content"),
        (" \x00", None, None, "content"),
        ("x" * (LONGEST_FACT + 1), None, None, "content"),
        ("x", 5, None, "category"),
        ("x", "c" * 101, None, "category"),
        *(("x", None, bad, "confidence") for bad in (-0.1, 1.1, float("nan"), True, "0.5")),
    ],
)
def test_what_cannot_be_a_fact_is_named(
    content: object, category: object, confidence: object, field: str
) -> None:
    """The error says which part of it is wrong."""
    with pytest.raises(InvalidFact, match=f"the {field} of a fact") as caught:
        draft_of(content, category, confidence)

    assert field == caught.value.field


def test_facts_are_the_same_whatever_the_case() -> None:
    """As DeerFlow's own memory compares them."""
    assert sameness(" Likes TEA ") == sameness("likes tea")
