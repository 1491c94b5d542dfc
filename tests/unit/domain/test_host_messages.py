"""Reading whatever a host calls a message."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.messages import Message, Role

REPLY = {"version": 1, "kind": "human_input_response", "response_kind": "text", "value": "blue"}


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("human", Role.USER),
        ("user", Role.USER),
        ("HumanMessageChunk", Role.USER),
        ("ai", Role.ASSISTANT),
        ("assistant", Role.ASSISTANT),
        ("AIMessageChunk", Role.ASSISTANT),
        ("system", Role.OTHER),
        ("tool", Role.OTHER),
        (None, Role.OTHER),
        (7, Role.OTHER),
    ],
)
def test_objects_and_mappings_are_read_alike(kind: object, role: Role) -> None:
    """A LangChain message, a mapping with its names and one with `role` mean the same."""
    reader = MessageReader()
    expected = Message(role, "hi", id="m1", name="n")

    assert expected == reader.read(
        SimpleNamespace(type=kind, content="hi", id="m1", name="n", additional_kwargs={})
    )
    assert expected == reader.read({"type": kind, "content": "hi", "id": "m1", "name": "n"})
    assert expected == reader.read({"role": kind, "content": "hi", "id": "m1", "name": "n"})


def test_a_message_of_ours_is_taken_as_it_is() -> None:
    """A host that speaks our own words needs no translation."""
    message = Message(Role.USER, "hi", id="m1")
    reader = MessageReader()

    assert message is reader.read(message)
    assert (Role.USER, "m1") == (reader.role(message), reader.id(message))


def test_the_suffix_is_taken_off_once() -> None:
    """A host that adds a suffix late hands over the same message under one id."""
    reader = MessageReader(id_suffix="__user")

    assert "m1" == reader.id({"id": "m1__user"})
    assert "m1" == reader.id({"id": "m1"})
    assert "m1__user" == reader.id({"id": "m1__user__user"})
    assert "__user" == reader.id({"id": "__user"})


@pytest.mark.parametrize(
    ("given_id", "expected"), [(7, "7"), ("", None), (None, None), (True, None), (1.5, None)]
)
def test_an_id_is_text(given_id: object, expected: str | None) -> None:
    """A number is an id; what is no id is none."""
    assert expected == MessageReader().id({"id": given_id})


@pytest.mark.parametrize("flag", ["hide_from_ui", "dynamic_context_reminder"])
def test_hidden_messages_are_recognised(flag: str) -> None:
    """The host's marks say what it hides from its user."""
    message = MessageReader().read({"role": "user", "additional_kwargs": {flag: True}})

    assert message.hidden


def test_an_answer_to_a_question_of_the_agent_is_what_the_user_said() -> None:
    """A hidden message that carries the user's reply is kept, with the reply as its text."""
    message = MessageReader().read(
        {
            "role": "user",
            "content": "The user answered: blue",
            "additional_kwargs": {"hide_from_ui": True, "human_input_response": REPLY},
        }
    )

    assert ("blue", False) == (message.reply, message.hidden)


@pytest.mark.parametrize(
    "response",
    ["blue", {"kind": "other", "value": "blue"}, REPLY | {"value": 7}, REPLY | {"value": " "}],
)
def test_what_is_no_reply_is_not_taken_for_one(response: object) -> None:
    """A mark of another shape does not make a hidden message the user's words."""
    message = MessageReader().read(
        {"role": "user", "additional_kwargs": {"hide_from_ui": 1, "human_input_response": response}}
    )

    assert (None, True) == (message.reply, message.hidden)


def test_the_hosts_hook_decides() -> None:
    """A host that says which hidden messages count is believed, both ways."""
    seen: list[Mapping[str, object]] = []

    def hook(extra: Mapping[str, object]) -> bool:
        seen.append(extra)
        return "keep" in extra

    reader = MessageReader(keep_hidden=hook)
    kept = {"hide_from_ui": True, "keep": 1}
    dropped = {"hide_from_ui": True, "human_input_response": REPLY}

    assert not reader.read({"role": "user", "additional_kwargs": kept}).hidden
    assert reader.read({"role": "user", "additional_kwargs": dropped}).hidden
    assert [kept, dropped] == seen


def test_a_hook_that_fails_costs_no_reply() -> None:
    """Where the host's own code fails, the library's rule stands in."""

    def hook(extra: Mapping[str, object]) -> bool:
        raise RuntimeError

    extra = {"hide_from_ui": True, "human_input_response": REPLY}
    reader = MessageReader(keep_hidden=hook)

    assert not reader.read({"role": "user", "additional_kwargs": extra}).hidden
    assert reader.read({"role": "user", "additional_kwargs": {"hide_from_ui": True}}).hidden


def test_only_the_users_words_have_an_original() -> None:
    """The clean text beside uploads is read from the user's messages only."""
    extra = {"original_user_content": "hi"}

    assert (
        "hi" == MessageReader().read({"role": "user", "additional_kwargs": extra}).original_content
    )
    assert MessageReader().read({"role": "ai", "additional_kwargs": extra}).original_content is None


def test_tools_and_errors_are_recognised() -> None:
    """An assistant's message that calls tools or reports a failure is no final answer."""
    reader = MessageReader()

    assert reader.read({"role": "ai", "tool_calls": [{"name": "x"}]}).calls_tools
    assert reader.read({"role": "ai", "additional_kwargs": {"tool_calls": [1]}}).calls_tools
    assert not reader.read({"role": "ai", "tool_calls": []}).calls_tools
    assert reader.read(
        {"role": "ai", "additional_kwargs": {"deerflow_error_fallback": True}}
    ).reports_error


def test_a_host_says_that_a_prompt_was_scheduled() -> None:
    """What it says in the user's name on a schedule is not what the user said."""
    reader = MessageReader()
    prompt = {"role": "user", "content": "Write the weekly report."}

    assert reader.read({**prompt, "additional_kwargs": {"scheduled_prompt": True}}).scheduled
    assert not reader.read(prompt).scheduled


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-03-01T10:00:00Z",
        "2026-03-01T10:00:00",
        "2026-03-01T12:00:00+02:00",
        1772359200,
        1772359200000,
        1772359200.0,
        datetime(2026, 3, 1, 10, tzinfo=UTC),
        datetime(2026, 3, 1, 10),  # noqa: DTZ001 - a host's naive time
        datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_times_are_read_in_every_usual_form(stamp: object) -> None:
    """ISO 8601, seconds, milliseconds and datetimes mean the same; without an offset it is UTC."""
    expected = datetime(2026, 3, 1, 10, tzinfo=UTC)
    reader = MessageReader()

    assert expected == reader.read({"additional_kwargs": {"timestamp": stamp}}).said_at
    assert expected == reader.read({"created_at": stamp}).said_at
    assert expected == reader.read(SimpleNamespace(timestamp=stamp)).said_at


@pytest.mark.parametrize("stamp", ["yesterday", 1e300, float("nan"), float("inf"), [], -1e12, True])
def test_a_time_that_is_none_is_unknown(stamp: object) -> None:
    """A time stamp that cannot be read does not cost the message."""
    said_at = MessageReader().read({"additional_kwargs": {"timestamp": stamp}}).said_at

    assert said_at is None or said_at.tzinfo is UTC


class Broken:
    """A host's message of which nothing can be read."""

    type = "human"

    @property
    def content(self) -> str:
        """A property that fails."""
        raise RuntimeError

    @property
    def tool_calls(self) -> object:
        """A value that has no truth."""

        class Neither:
            def __bool__(self) -> bool:
                raise RuntimeError

        return Neither()


def test_a_message_that_cannot_be_read_is_none() -> None:
    """It is left out, and the others of its thread are not."""
    assert Message(Role.OTHER) == MessageReader().read(Broken())


def test_a_hook_that_answers_with_a_coroutine_does_not_say_yes() -> None:
    """Only a plain yes makes a hidden message the user's words."""
    answers = iter([object(), 1])
    reader = MessageReader(keep_hidden=lambda extra: next(answers))  # type: ignore[arg-type,return-value]

    for _ in range(2):
        message = reader.read({"role": "user", "additional_kwargs": {"hide_from_ui": True}})
        assert message.hidden


def test_a_message_of_ours_is_checked() -> None:
    """A role may be given by its name, and a time without an offset is UTC."""
    naive = datetime(2026, 3, 1, 10)  # noqa: DTZ001 - that is the point
    message = Message("user", "hi", said_at=naive)  # type: ignore[arg-type]

    assert Role.USER is message.role
    assert naive.replace(tzinfo=UTC) == message.said_at
    with pytest.raises(ValueError, match="nobody"):
        Message("nobody")  # type: ignore[arg-type]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
    | st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["user", "ai", "x"]) | st.integers(),
            "content": st.text() | st.lists(st.text()) | st.integers(),
            "id": st.text() | st.integers() | st.none(),
            "additional_kwargs": st.none()
            | st.dictionaries(
                st.sampled_from(
                    ["hide_from_ui", "human_input_response", "timestamp", "original_user_content"]
                ),
                st.none() | st.text() | st.floats() | st.dictionaries(st.text(), st.text()),
            ),
        },
    )
)
def test_reading_is_total(raw: object) -> None:
    """Whatever a host hands over, reading it gives a message."""
    assert isinstance(MessageReader(id_suffix="__user").read(raw), Message)
