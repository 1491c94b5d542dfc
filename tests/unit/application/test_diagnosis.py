"""The doctor: what is wrong with a deployment, in an operator's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from honcho_memory.adapters.in_memory import InMemoryHoncho, InMemoryOutbox, ManualClock
from honcho_memory.application.diagnosis import DELETION_TRIES, Patient, Verdict, diagnose
from honcho_memory.domain.errors import (
    HonchoProtocolError,
    HonchoRejected,
    HonchoUnauthorized,
    HonchoUnavailable,
)
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.administration import Health
from honcho_memory.ports.honcho import MessagePage
from honcho_memory.ports.outbox import Draft, Lane

SERVER = "http://honcho"


@pytest.fixture
def patient(honcho: InMemoryHoncho, clock: ManualClock) -> Patient:
    """A deployment with which all is well."""
    return Patient(SERVER, honcho, InMemoryOutbox(), "deerflow-u-", 32, 5.0, clock)


def found(patient: Patient, *, with_write: bool = False) -> dict[str, tuple[Verdict, str]]:
    """What the doctor says, by check."""
    findings = diagnose(patient, with_write=with_write, sleep=lambda _: None)
    return {finding.check: (finding.verdict, finding.text) for finding in findings}


def test_a_healthy_deployment(patient: Patient, honcho: InMemoryHoncho) -> None:
    """All is well, and looking has created nothing."""
    findings = found(patient)

    assert ["server", "clock", "outbox", "ids"] == list(findings)
    assert {Verdict.OK} == {verdict for verdict, _ in findings.values()}
    assert () == honcho.workspaces()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (HonchoUnauthorized("Invalid JWT"), "refuses the key"),
        (HonchoProtocolError("HTML"), "is not a Honcho v3"),
        (HonchoRejected("no"), "refuses a read"),
        (HonchoUnavailable("refused"), "cannot be reached"),
        (HonchoUnavailable("broken", status=501), "answers with a failure"),
    ],
)
def test_a_server_that_cannot_be_used(
    patient: Patient, honcho: InMemoryHoncho, error: Exception, words: str
) -> None:
    """What is wrong and what to look at; what depends on the server is not checked."""
    honcho.faults.fail(error)

    findings = found(patient, with_write=True)

    assert ["server", "outbox", "ids"] == list(findings)
    assert Verdict.PROBLEM is findings["server"][0]
    assert words in findings["server"][1]


def test_clocks_that_differ(patient: Patient, clock: ManualClock) -> None:
    """Messages would get wrong times."""
    late = ManualClock(clock.time() + 300)

    verdict, text = found(replace(patient, clock=late))["clock"]

    assert (Verdict.WARNING, True) == (verdict, "differ by 300 s" in text)


def test_a_server_that_does_not_tell_its_time(patient: Patient, honcho: InMemoryHoncho) -> None:
    """That is no problem, but it is said."""
    honcho.faults.fail(HonchoUnavailable("failed", status=500), operation="health")
    assert "cannot be read" in found(patient)["clock"][1]

    honcho.health = lambda *, timeout: Health(None)  # type: ignore[method-assign]
    assert "does not tell" in found(patient)["clock"][1]


def test_a_round_trip_leaves_nothing_behind(patient: Patient, honcho: InMemoryHoncho) -> None:
    """With `--write` a message is written, found and removed with its workspace."""
    assert Verdict.OK is found(patient, with_write=True)["write"][0]
    assert () == honcho.workspaces()


def test_a_round_trip_that_fails(patient: Patient, honcho: InMemoryHoncho) -> None:
    """A server that cannot be written is a problem; what was made on the way is removed."""
    honcho.faults.fail(HonchoUnavailable("failed", status=500), operation="add_messages")

    verdict, text = found(patient, with_write=True)["write"]

    assert (Verdict.PROBLEM, False) == (verdict, "scratch workspace" in text)
    assert () == honcho.workspaces()


def test_a_round_trip_that_cannot_even_begin(patient: Patient, honcho: InMemoryHoncho) -> None:
    """Where nothing was made there is nothing to remove."""
    honcho.faults.fail(HonchoRejected("no", status=403), operation="configure_peer")

    verdict, text = found(patient, with_write=True)["write"]

    assert (Verdict.PROBLEM, False) == (verdict, "scratch workspace" in text)


def test_a_server_that_fails_in_the_middle(patient: Patient, honcho: InMemoryHoncho) -> None:
    """What the doctor could not remove is named beside the problem."""
    for operation in ("find_messages", "delete_session"):
        honcho.faults.fail(HonchoUnavailable("gone"), operation=operation, times=None)

    verdict, text = found(patient, with_write=True)["write"]

    assert (Verdict.PROBLEM, True) == (verdict, "cannot be written and read" in text)
    assert f"the scratch workspace {honcho.workspaces()[0]} could not be removed" in text


def test_a_message_that_is_not_found_again(patient: Patient, honcho: InMemoryHoncho) -> None:
    """A server that loses what it took is a problem."""

    def find_nothing(
        workspace: str, session: str, keys: Sequence[str], **options: object
    ) -> MessagePage:
        return MessagePage((), has_more=False)

    honcho.find_messages = find_nothing  # type: ignore[method-assign]

    verdict, text = found(patient, with_write=True)["write"]
    assert (Verdict.PROBLEM, True) == (verdict, "not found again" in text)


def test_a_scratch_workspace_that_stays(patient: Patient, honcho: InMemoryHoncho) -> None:
    """What the doctor could not remove it names, after looking a fair number of times."""
    stays = honcho.faults.fail(
        HonchoRejected("active", status=409), operation="delete_workspace", times=None
    )

    verdict, text = found(patient, with_write=True)["write"]

    assert Verdict.WARNING is verdict
    assert honcho.workspaces()[0] in text
    assert DELETION_TRIES == stays.hits


def test_no_place_on_disk(patient: Patient) -> None:
    """Without a storage path an outage may lose something: the operator should know."""
    assert Verdict.WARNING is found(replace(patient, outbox=None))["outbox"][0]


def test_an_outbox_that_cannot_be_read(patient: Patient) -> None:
    """A broken outbox is a problem."""
    outbox = InMemoryOutbox()
    outbox.close()

    assert Verdict.PROBLEM is found(replace(patient, outbox=outbox))["outbox"][0]


def test_messages_that_go_nowhere(patient: Patient, clock: ManualClock) -> None:
    """Refused messages and those for another address want a decision."""
    outbox = InMemoryOutbox()
    for server in (SERVER, "http://other"):
        message = Outgoing("k", "ada", "hi", datetime(2026, 3, 1, tzinfo=UTC), {})
        outbox.put(Lane(server, "ws", "s"), [Draft(message)], now=clock.time())
    claim = outbox.claim(SERVER, holder="x", now=clock.time(), lease=9, limit=1, max_bytes=9)
    assert claim is not None
    outbox.set_aside(claim, {claim.rows[0].number: "no"}, now=clock.time())

    verdict, text = found(replace(patient, outbox=outbox))["outbox"]

    assert Verdict.WARNING is verdict
    for words in ("waiting: 0", "set aside: 1", "outbox list", "for another server: 1"):
        assert words in text


def test_short_digests(patient: Patient) -> None:
    """The built-in backend's digest length has its limits."""
    verdict, text = found(replace(patient, digest_chars=8))["ids"]

    assert (Verdict.WARNING, True) == (verdict, "orphans every memory" in text)
