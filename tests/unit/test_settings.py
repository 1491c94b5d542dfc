from __future__ import annotations

import json
import logging
import math
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from honcho_memory.domain.errors import ConfigurationError
from honcho_memory.domain.identity import Identities, User
from honcho_memory.domain.policy import ReadPolicy, SearchScope
from honcho_memory.domain.transcript import Overflow
from honcho_memory.settings import Allowed, Delivery, Settings

KEY = "hch-v3-s3cr3t.key"
HTTPS = "https://api.honcho.dev"

DEFAULTS: dict[str, object] = {
    "base_url": "http://localhost:8000",
    "api_key": None,
    "api_key_env": None,
    "allow_insecure_http": False,
    "workspace_prefix": "deerflow-u-",
    "workspace_overrides": {},
    "user_peer_overrides": {},
    "assistant_peer": "deerflow",
    "assistant_observed": False,
    "anonymous_user_ids": (),
    "id_digest_chars": 8,
    "timeout_seconds": 10.0,
    "connect_timeout_seconds": 3.0,
    "message_char_limit": 8_000,
    "overflow": "truncate",
    "max_injection_chars": 6_000,
    "backfill": True,
    "delivery": None,
    "outbox": {"max_messages": 10_000, "max_bytes": 67_108_864},
    "search_scope": "workspace",
    "failure_policy": {"read": "fail_open"},
    "recall": {
        "deadline_seconds": 4.0,
        "fresh_seconds": 30.0,
        "stale_if_error_seconds": None,
        "max_conclusions": 25,
        "peer_card": True,
    },
    "storage_path": "",
    "telemetry": False,
}
SECTIONS = ("outbox", "failure_policy", "recall")


def refusal(mapping: Mapping[str, object]) -> str:
    """What a configuration is refused with."""
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_mapping(mapping)
    return str(caught.value)


def at(path: str, value: object) -> dict[str, object]:
    """A configuration that sets one key, given by its dotted path."""
    section, _, name = path.rpartition(".")
    return {section: {name: value}} if section else {path: value}


def read(path: str, value: object) -> object:
    """What a value becomes at a key, given by its dotted path."""
    parsed: object = Settings.from_mapping(at(path, value))
    for name in path.split("."):
        parsed = getattr(parsed, name)
    return parsed


def every_model(model: type[BaseModel] = Settings) -> list[type[BaseModel]]:
    """The settings and their sections."""
    return [model, *(type(getattr(Settings(), name)) for name in SECTIONS)]


@pytest.mark.parametrize("nothing", [None, {}, dict.fromkeys(DEFAULTS)])
def test_no_configuration_is_the_default_one(nothing: Mapping[str, object] | None) -> None:
    """A host that sets nothing, or nothing but nulls, gets what the documentation promises."""
    assert Settings.from_mapping(nothing).model_dump() == DEFAULTS


@pytest.mark.parametrize("section", SECTIONS)
def test_a_null_in_a_section_is_the_default_too(section: str) -> None:
    """A key without a value in YAML sets nothing."""
    model: BaseModel = getattr(Settings(), section)
    nulls = dict.fromkeys(type(model).model_fields)

    assert Settings() == Settings.from_mapping({section: nulls})


def test_the_complete_example_is_read() -> None:
    """What an operator writes is what the memory gets."""
    settings = Settings.from_mapping(
        MappingProxyType(
            {
                "base_url": "https://honcho.example/api/",
                "api_key": KEY,
                "workspace_prefix": "team-",
                "workspace_overrides": MappingProxyType({"ada": "shared", 7: "seven"}),
                "user_peer_overrides": {"ada": "countess"},
                "assistant_peer": "bot",
                "assistant_observed": True,
                "anonymous_user_ids": ["default", 0],
                "id_digest_chars": 32,
                "overflow": "split",
                "delivery": "inline",
                "search_scope": "user",
                "failure_policy": {"read": "fail_closed"},
                "recall": {"deadline_seconds": 2, "peer_card": False},
                "outbox": {"max_messages": 5},
                "storage_path": Path("memory"),
            }
        )
    )

    assert settings.base_url == "https://honcho.example/api"
    assert settings.api_key == SecretStr(KEY)
    assert settings.workspace_overrides == {"ada": "shared", "7": "seven"}
    assert settings.anonymous_user_ids == ("default", "0")
    assert settings.overflow is Overflow.SPLIT
    assert settings.delivery is Delivery.INLINE
    assert settings.search_scope is SearchScope.USER
    assert settings.failure_policy.read is ReadPolicy.FAIL_CLOSED
    assert (settings.recall.deadline_seconds, settings.recall.peer_card) == (2.0, False)
    assert (settings.outbox.max_messages, settings.outbox.max_bytes) == (5, 67_108_864)
    assert settings.storage_path == "memory"
    assert settings.identities() == Identities(
        workspace_prefix="team-",
        workspace_overrides={"ada": "shared", "7": "seven"},
        user_peer_overrides={"ada": "countess"},
        assistant_peer="bot",
        anonymous_user_ids=frozenset({"default", "0"}),
        digest_chars=32,
    )
    assert settings.identities().user("ada") == User("shared", "countess")


@pytest.mark.parametrize(
    ("expected", "path", "text"),
    [
        (12, "message_char_limit", " 12 "),
        (8_000, "message_char_limit", ""),
        (1.5, "timeout_seconds", "1.5"),
        (10.0, "timeout_seconds", "  "),
        (32, "id_digest_chars", "32"),
        (100, "recall.max_conclusions", "100"),
        (0.0, "recall.fresh_seconds", "0"),
        (5.0, "recall.stale_if_error_seconds", "5"),
        (None, "recall.stale_if_error_seconds", ""),
        (1, "outbox.max_bytes", "1"),
        (False, "backfill", "false"),
        (False, "backfill", " No "),
        (True, "backfill", ""),
        (True, "assistant_observed", "TRUE"),
        (False, "recall.peer_card", "0"),
        (None, "delivery", ""),
        (None, "api_key", ""),
        (None, "api_key_env", " "),
        ("", "workspace_prefix", ""),
    ],
)
def test_a_text_that_stands_for_a_value_is_read(expected: object, path: str, text: str) -> None:
    """Environment variables are always texts, and `"false"` must not count as true."""
    assert expected == read(path, text)


WRONG: list[tuple[str, object]] = [
    ("base_url", 8000),
    ("base_url", "localhost:8000"),
    ("base_url", ""),
    ("base_url", "ftp://honcho"),
    ("base_url", "http://"),
    ("base_url", "http://:8000"),
    ("base_url", "http://honcho:port"),
    ("base_url", "http://honcho:99999"),
    ("base_url", "http://honcho:0"),
    ("base_url", "http://[::1"),
    ("base_url", "http://hon cho"),
    ("base_url", "http://honcho\n"),
    ("base_url", "http://h\u00f6ncho"),
    ("base_url", "http:\\\\honcho"),
    ("allow_insecure_http", "perhaps"),
    ("allow_insecure_http", 2),
    ("workspace_prefix", 5),
    ("workspace_prefix", "a.b"),
    ("workspace_prefix", "p" * 44),
    ("workspace_overrides", "ada=shared"),
    ("workspace_overrides", ["ada"]),
    ("user_peer_overrides", ""),
    ("assistant_peer", ""),
    ("assistant_peer", 5),
    ("assistant_peer", b"bot"),
    ("assistant_peer", "bot-0123abcd"),
    ("anonymous_user_ids", "default"),
    ("anonymous_user_ids", {"default": True}),
    ("id_digest_chars", 16),
    ("id_digest_chars", 8.5),
    ("timeout_seconds", True),
    ("timeout_seconds", 0),
    ("timeout_seconds", -1),
    ("timeout_seconds", math.nan),
    ("timeout_seconds", "nan"),
    ("timeout_seconds", math.inf),
    ("timeout_seconds", "soon"),
    ("timeout_seconds", 1e300),
    ("timeout_seconds", [10]),
    ("connect_timeout_seconds", "-3"),
    ("connect_timeout_seconds", b"3"),
    ("message_char_limit", 0),
    ("message_char_limit", -1),
    ("message_char_limit", 8000.5),
    ("message_char_limit", True),
    ("message_char_limit", 25_001),
    ("message_char_limit", 10**50),
    ("overflow", "wrap"),
    ("overflow", "Split"),
    ("max_injection_chars", 0),
    ("max_injection_chars", "many"),
    ("backfill", "x"),
    ("delivery", "sometimes"),
    ("outbox", "10"),
    ("outbox.max_messages", 0),
    ("outbox.max_bytes", False),
    ("search_scope", "everyone"),
    ("failure_policy", "fail_open"),
    ("failure_policy", ["read"]),
    ("failure_policy.read", "FAIL_CLOSED"),
    ("failure_policy.read", ""),
    ("recall", 4.0),
    ("recall.deadline_seconds", 0),
    ("recall.fresh_seconds", -0.1),
    ("recall.stale_if_error_seconds", "inf"),
    ("recall.stale_if_error_seconds", True),
    ("recall.max_conclusions", 0),
    ("recall.max_conclusions", 101),
    ("recall.peer_card", 3),
    ("storage_path", 5),
    ("storage_path", object()),
]


@pytest.mark.parametrize(("path", "value"), WRONG)
def test_a_wrong_value_is_refused_by_name(path: str, value: object) -> None:
    """An operator reads which key is wrong and what it may be, before anything runs."""
    message = refusal(at(path, value))

    assert message.startswith(f"{path} must ")
    assert len(message) < 500
    assert "pydantic" not in message


@pytest.mark.parametrize(
    ("expected", "path", "value"),
    [
        ("overflow must be 'truncate' or 'split', got 'wrap'", "overflow", "wrap"),
        (
            "delivery must be 'durable', 'background' or 'inline', got 'often'",
            "delivery",
            "often",
        ),
        (
            "message_char_limit must be a whole number from 1 to 25,000, got 25001",
            "message_char_limit",
            25_001,
        ),
        (
            "failure_policy must be a mapping, as in {read: fail_open}, because DeerFlow itself "
            "fails on others, got 'fail_open'",
            "failure_policy",
            "fail_open",
        ),
        (
            "failure_policy.read must be 'fail_open' or 'fail_closed', in lower case, because "
            "DeerFlow reads it too, got 'Fail_Open'",
            "failure_policy.read",
            "Fail_Open",
        ),
        ("recall must be a mapping, got a list", "recall", ["deadline_seconds"]),
        (
            "max_injection_chars must be a whole number greater than 0, got a mapping",
            "max_injection_chars",
            {"a": 1},
        ),
        (
            "max_injection_chars must be a whole number greater than 0, got a very large number",
            "max_injection_chars",
            -(10**50),
        ),
        (
            "storage_path must be a text; YAML needs quotes around digits, got an object of type "
            "bytes",
            "storage_path",
            b"x",
        ),
        (
            "overflow must be 'truncate' or 'split', got '" + "x" * 59 + "…",
            "overflow",
            "x" * 10_000,
        ),
    ],
)
def test_a_refusal_says_what_was_given_and_what_is_allowed(
    expected: str, path: str, value: object
) -> None:
    """The message is enough to put the configuration right."""
    assert expected == refusal(at(path, value))


def test_all_that_is_wrong_is_said_at_once() -> None:
    """An operator with three mistakes restarts once, not three times."""
    message = refusal(
        {"timeout_seconds": "soon", "overflow": "wrap", "recall": {"max_conclusions": 0}}
    )

    assert [
        "timeout_seconds must",
        "overflow must",
        "recall.max_conclusions must",
    ] == [" ".join(problem.split()[:2]) for problem in message.split("; ")]


@pytest.mark.parametrize("given_settings", [5, "base_url", [("base_url", HTTPS)]])
def test_settings_are_a_mapping(given_settings: object) -> None:
    """Anything else is a mistake of the host, and said so without showing it."""
    assert refusal(given_settings).startswith("the settings must be a mapping, got ")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expected", "url"),
    [
        ("http://localhost:8000", "http://localhost:8000///"),
        ("https://api.honcho.dev", "HTTPS://API.honcho.dev"),
        ("https://honcho.example/Team/one", "https://honcho.example/Team/one/"),
        ("http://[::1]:8000", "http://[::1]:8000/"),
    ],
)
def test_one_server_has_one_url(expected: str, url: str) -> None:
    """What waits for a server still belongs to it when its URL is spelled differently."""
    assert expected == read("base_url", url)


@pytest.mark.parametrize(
    "url",
    [
        f"https://ada:{KEY}@api.honcho.dev",
        f"https://{KEY}@api.honcho.dev",
        f"https://api.honcho.dev?key={KEY}",
        f"https://api.honcho.dev/#{KEY}",
    ],
)
def test_a_url_with_a_secret_in_it_is_refused_unseen(url: str) -> None:
    """A URL is logged and shown, so it is no place for a key."""
    message = refusal({"base_url": url})

    assert message.startswith("base_url must have no user name")
    assert KEY not in message


@pytest.mark.parametrize("url", ["http://honcho:8000", "HTTP://honcho:8000"])
def test_a_key_does_not_travel_in_the_clear(url: str) -> None:
    """Over plain http the key could be read on the way; the operator has to want that."""
    assert "allow_insecure_http" in refusal({"base_url": url, "api_key": KEY})
    assert "allow_insecure_http" in refusal(
        {"base_url": url, "api_key": KEY, "allow_insecure_http": "false"}
    )
    allowed = Settings.from_mapping(
        {"base_url": url, "api_key": KEY, "allow_insecure_http": "true"}
    )
    assert allowed.api_key == SecretStr(KEY)


def test_plain_http_without_a_key_is_fine() -> None:
    """A Honcho on the operator's own machine asks for no key."""
    assert read("base_url", "http://honcho:8000") == "http://honcho:8000"


@pytest.mark.parametrize("reference", ["$HONCHO_KEY", "${HONCHO_KEY}"])
def test_a_reference_that_the_host_left_is_resolved(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A literal `$NAME` sent as the key would be a puzzling 401."""
    monkeypatch.setenv("HONCHO_KEY", KEY)

    assert Settings.from_mapping({"base_url": HTTPS, "api_key": reference}).api_key == SecretStr(
        KEY
    )


def test_the_key_is_read_from_the_variable_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The configuration that DeerFlow shows over HTTP then holds no secret."""
    monkeypatch.setenv("HONCHO_KEY", KEY)
    settings = Settings.from_mapping({"base_url": HTTPS, "api_key_env": "HONCHO_KEY"})

    assert settings.api_key == SecretStr(KEY)


def test_a_key_from_the_environment_is_kept_off_plain_http_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever the key comes from, it is sent in the same header."""
    monkeypatch.setenv("HONCHO_KEY", KEY)

    assert "allow_insecure_http" in refusal({"api_key_env": "HONCHO_KEY"})


@pytest.mark.parametrize("mapping", [{"api_key": "$HONCHO_KEY"}, {"api_key_env": "HONCHO_KEY"}])
@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_is_named(
    mapping: dict[str, object], value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its key the memory would fail on every request; the start says why."""
    if value is None:
        monkeypatch.delenv("HONCHO_KEY", raising=False)
    else:
        monkeypatch.setenv("HONCHO_KEY", value)
    message = refusal({"base_url": HTTPS, **mapping})

    assert "HONCHO_KEY, which is not set or empty" in message
    assert message.startswith(next(iter(mapping)))


def test_one_key_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two keys nobody could tell which one is used."""
    monkeypatch.setenv("HONCHO_KEY", KEY)
    message = refusal({"base_url": HTTPS, "api_key": "other-key", "api_key_env": "HONCHO_KEY"})

    assert message == "api_key and api_key_env must not both be given"


BAD_KEYS = [f"{KEY}\n", f"{KEY} x", f"\t{KEY}", f"{KEY}\x00", f"{KEY}é", f"$ {KEY}", f"${KEY}!"]


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str) -> None:
    """A stray line break is found at the start, and the key is in no log for it."""
    message = refusal({"base_url": HTTPS, "api_key": key})

    assert message.startswith("api_key must ")
    assert "s3cr3t" not in message


def test_a_bad_key_in_the_environment_is_refused_unseen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message names the variable, not what is in it."""
    monkeypatch.setenv("HONCHO_KEY", f"{KEY}\n")
    message = refusal({"base_url": HTTPS, "api_key_env": "HONCHO_KEY"})

    assert "environment variable HONCHO_KEY" in message
    assert "s3cr3t" not in message


@pytest.mark.parametrize("name", [KEY, 5, "A B", [KEY]])
def test_a_key_in_the_place_of_a_variable_is_refused_unseen(name: object) -> None:
    """Whoever pastes the key where its variable's name is due does not find it in the log."""
    message = refusal({"base_url": HTTPS, "api_key_env": name})

    assert message.startswith("api_key_env must be the name of an environment variable")
    assert "s3cr3t" not in message


@pytest.mark.parametrize("key", [5, [KEY], {"value": KEY}, b"hch-v3-s3cr3t.key"])
def test_a_key_is_a_text(key: object) -> None:
    """A key of another type is refused without being shown."""
    message = refusal({"base_url": HTTPS, "api_key": key})

    assert message == f"api_key must be a text, got a {type(key).__name__}"


def test_a_key_may_come_wrapped() -> None:
    """A host that keeps its secrets wrapped need not unwrap them."""
    settings = Settings.from_mapping({"base_url": HTTPS, "api_key": SecretStr(KEY)})

    assert settings.api_key == SecretStr(KEY)


def test_settings_do_not_show_the_key() -> None:
    """Settings end up in logs and error reports."""
    settings = Settings.from_mapping({"base_url": HTTPS, "api_key": KEY})

    for shown in (repr(settings), str(settings), str(settings.model_dump())):
        assert "s3cr3t" not in shown
    assert "s3cr3t" not in settings.model_dump_json()


@pytest.mark.parametrize(
    "mistake",
    [
        {"assistant_peer": KEY},
        {"workspace_prefix": KEY},
        {"overflow": KEY},
        {"workspace_overrides": {KEY: 5}},
        {"workspace_overrides": {"ada": f"x {KEY}"}},
        {"recall": {"api_key": KEY, "max_conclusions": {"api_key": KEY}}},
        {"failure_policy": [{"api_key": KEY}]},
        {"timeout_seconds": f"{'x' * 55}{KEY}"},
    ],
)
def test_no_refusal_shows_the_key(mistake: dict[str, object]) -> None:
    """A mistake elsewhere does not put the key into the log, nor into the chain of errors."""
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_mapping({"base_url": HTTPS, "api_key": KEY, **mistake})

    assert "hch-v3" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_direct_construction_hides_what_was_given() -> None:
    """Pydantic's own error does not repeat its input."""
    with pytest.raises(ValueError, match="1 validation error") as caught:
        Settings(base_url=HTTPS, api_key=SecretStr(f"{KEY} x"))

    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    ("expected", "overrides"),
    [
        ("workspace_overrides.ada must be a text", {"ada": 5}),
        ("workspace_overrides.ada must be a text", {"ada": None}),
        ("workspace_overrides.[key] must be a text", {"[key]": None}),
        ("workspace_overrides['ada'] must be 1 to 100", {"ada": ""}),
        ("workspace_overrides['ada'] must be 1 to 100", {"ada": "x" * 101}),
        ("a key of workspace_overrides must be a text", {False: "shared"}),
        ("a key of workspace_overrides must be a text", {None: "shared"}),
    ],
)
def test_an_override_that_would_be_another_one_is_refused(
    expected: str, overrides: dict[object, object]
) -> None:
    """An empty value would be no override, a null a workspace named None."""
    assert refusal({"workspace_overrides": overrides}).startswith(expected)


def test_an_anonymous_id_is_a_text_or_a_number() -> None:
    """A null in the list is a slip of the pen."""
    assert refusal({"anonymous_user_ids": ["default", None]}).startswith(
        "anonymous_user_ids.1 must be a text"
    )


def test_a_user_must_not_be_the_assistant() -> None:
    """The rule of the identities is checked before anything is started."""
    message = refusal({"user_peer_overrides": {"ada": "deerflow"}})

    assert message.startswith("user_peer_overrides['ada'] is 'deerflow'")


@pytest.mark.parametrize(
    ("expected", "mapping"),
    [
        (86_400, {}),
        (0.0, {"failure_policy": {"read": "fail_closed"}}),
        (5.0, {"recall": {"stale_if_error_seconds": 5}}),
        (
            5.0,
            {"failure_policy": {"read": "fail_closed"}, "recall": {"stale_if_error_seconds": 5}},
        ),
        (0.0, {"recall": {"stale_if_error_seconds": 0}}),
    ],
)
def test_a_stale_answer_stands_in_where_failing_open(
    expected: float, mapping: dict[str, object]
) -> None:
    """Who wants to fail closed gets no old answers, unless they say so."""
    assert expected == Settings.from_mapping(mapping).stale_if_error_seconds


@pytest.mark.parametrize(
    ("expected", "mapping"),
    [
        (Delivery.BACKGROUND, {}),
        (Delivery.DURABLE, {"storage_path": "memory"}),
        (Delivery.DURABLE, {"storage_path": "memory", "delivery": "durable"}),
        (Delivery.BACKGROUND, {"storage_path": "memory", "delivery": "background"}),
        (Delivery.INLINE, {"delivery": "inline"}),
    ],
)
def test_delivery_is_durable_where_there_is_a_place_for_it(
    expected: Delivery, mapping: dict[str, object]
) -> None:
    """Under DeerFlow, which always gives a folder, nothing is lost by default."""
    assert expected is Settings.from_mapping(mapping).delivery_mode


def test_durable_delivery_needs_a_place() -> None:
    """A promise that cannot be kept is not made."""
    assert refusal({"delivery": "durable"}).startswith("delivery must not be durable")


@pytest.mark.parametrize(
    ("expected", "mapping"),
    [
        ("'apikey' does not exist and is ignored; did you mean api_key?", {"apikey": KEY}),
        ("did you mean base_url?", {"url": HTTPS}),
        ("did you mean timeout_seconds?", {"timeout": 3}),
        ("did you mean recall.fresh_seconds?", {"fresh_seconds": 3}),
        (
            "'recall.max_conclusion' does not exist and is ignored; did you mean "
            "recall.max_conclusions?",
            {"recall": {"max_conclusion": 3}},
        ),
        ("'zzz' does not exist and is ignored", {"zzz": KEY}),
        ("'7' does not exist and is ignored", {7: KEY}),
        ("'" + "x" * 60 + "…' does not exist", {"x" * 1000: KEY}),
        ("failure_policy is null", {"failure_policy": None}),
    ],
)
def test_what_is_ignored_is_said(
    expected: str, mapping: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt key is no reason to stop, but its operator hears of it."""
    with caplog.at_level(logging.WARNING, logger="honcho_memory.settings"):
        settings = Settings.from_mapping(mapping)

    assert Settings() == settings
    assert len(caplog.messages) == 1
    assert expected in caplog.messages[0]
    assert KEY not in caplog.text


def test_known_settings_are_read_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    """A right configuration has nothing to be warned of."""
    with caplog.at_level(logging.DEBUG):
        Settings.from_mapping({**DEFAULTS, "workspace_overrides": {"ada": "shared"}})

    assert caplog.messages == []


def test_settings_cannot_be_changed() -> None:
    """What was checked stays as it was checked."""
    with pytest.raises(ValueError, match="frozen"):
        Settings().timeout_seconds = -1


def test_every_setting_is_described() -> None:
    """The settings page of the documentation is made from the descriptions."""
    for model in every_model():
        for name, field in model.model_fields.items():
            assert field.description, name
            assert field.description.endswith("."), name
    orphans = Settings.model_fields["id_digest_chars"].description
    assert orphans is not None
    assert "orphans every memory" in orphans


def test_every_setting_says_what_it_may_be() -> None:
    """No refusal is left without an answer to what is allowed."""
    without = {
        name
        for model in every_model()
        for name, field in model.model_fields.items()
        if not any(isinstance(item, Allowed) for item in field.metadata)
    }

    assert without == {"api_key", "api_key_env"}


yaml_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from([KEY, f"x{KEY}", "$HOME_OF_NOBODY", "fail_open", "inline", HTTPS, b"x"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.sampled_from([KEY, *DEFAULTS, "read", "fresh_seconds", "peer_card"]),
                st.text(max_size=5),
                st.integers(),
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)
configurations = st.dictionaries(
    st.sampled_from([name for name in DEFAULTS if name != "api_key"]), yaml_values, max_size=6
)


@given(configurations)
def test_any_configuration_is_taken_or_refused(configuration: dict[str, object]) -> None:
    """Whatever a host hands over, there are two outcomes, and neither shows the key."""
    configuration["api_key"] = KEY
    configuration.setdefault("base_url", HTTPS)
    try:
        settings = Settings.from_mapping(configuration)
    except ConfigurationError as error:
        message = str(error)
        assert message
        assert len(message) < 500 * (1 + message.count("; "))
        assert KEY not in message
    else:
        assert settings.api_key == SecretStr(KEY)
        assert json.loads(settings.model_dump_json())["api_key"] == "**********"
