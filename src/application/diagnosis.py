"""Finding out what is wrong with a deployment, in an operator's words."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from honcho_memory.domain.errors import (
    HonchoNotFound,
    HonchoProtocolError,
    HonchoRejected,
    HonchoRequestError,
    HonchoUnauthorized,
    HonchoUnavailable,
    OutboxError,
)
from honcho_memory.domain.messages import Outgoing
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.outbox import Outbox

CHECK_PEER = "honcho-memory-doctor"
SCRATCH_SESSION = "scratch"
MOST_SKEW = 60.0
"""Seconds that the clocks of host and server may differ."""
DELETION_TRIES = 30
"""How often the doctor looks, a second apart, whether its scratch session is gone."""


class Verdict(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        check: What was checked.
        verdict: How serious it is.
        text: What was found, and what to do about it.
    """

    check: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Patient:
    """The deployment to look at.

    Attributes:
        server: Its address.
        honcho: The way there.
        outbox: Where messages wait; None where nothing outlives the process.
        workspace_prefix: Of the deployment; the check looks at a workspace of that family.
        digest_chars: Of the ids.
        timeout: Of one request, in seconds.
        clock: The host's.
    """

    server: str
    honcho: Honcho
    outbox: Outbox | None
    workspace_prefix: str
    digest_chars: int
    timeout: float
    clock: Clock


def diagnose(
    patient: Patient, *, with_write: bool, sleep: Callable[[float], None]
) -> Iterator[Finding]:
    """Look at a deployment, one check after the other.

    Args:
        patient: What to look at.
        with_write: Whether to write a message and to remove it again.
        sleep: Waits, between two looks at whether it is removed.
    """
    reachable = _server(patient)
    yield reachable
    if reachable.verdict is Verdict.OK:
        yield _clock(patient)
        if with_write:
            yield _round_trip(patient, sleep)
    yield _outbox(patient)
    yield _digest(patient)


def _server(patient: Patient) -> Finding:
    """One read that creates nothing tells whether this is a Honcho that takes the key."""
    try:
        patient.honcho.representation(
            patient.workspace_prefix + CHECK_PEER,
            CHECK_PEER,
            max_conclusions=1,
            timeout=patient.timeout,
        )
    except HonchoUnauthorized as error:
        text = f"{patient.server} refuses the key ({error}): check api_key or api_key_env"
    except HonchoProtocolError as error:
        text = f"{patient.server} is not a Honcho v3 ({error}): check base_url"
    except HonchoRejected as error:
        text = f"{patient.server} refuses a read ({error}): is it a Honcho v3?"
    except HonchoRequestError as error:
        if isinstance(error, HonchoUnavailable) and error.status is not None:
            text = f"{patient.server} answers with a failure ({error}): is it a Honcho, and well?"
        else:
            text = (
                f"{patient.server} cannot be reached ({error}): is it running, and base_url right?"
            )
    else:
        return Finding("server", Verdict.OK, f"{patient.server} is a Honcho v3 and takes the key")
    return Finding("server", Verdict.PROBLEM, text)


def _clock(patient: Patient) -> Finding:
    try:
        server_time = patient.honcho.health(timeout=patient.timeout).date
    except HonchoRequestError as error:
        return Finding("clock", Verdict.WARNING, f"the server's time cannot be read ({error})")
    if server_time is None:
        return Finding("clock", Verdict.WARNING, "the server does not tell its time")
    skew = abs(patient.clock.time() - server_time.timestamp())
    if skew > MOST_SKEW:
        return Finding(
            "clock",
            Verdict.WARNING,
            f"the clocks differ by {skew:.0f} s: messages get wrong times; synchronise them",
        )
    return Finding("clock", Verdict.OK, "the clocks agree")


def _round_trip(patient: Patient, sleep: Callable[[float], None]) -> Finding:
    """Write a message into a scratch workspace, find it, and remove all of it."""
    workspace = f"{CHECK_PEER}-{uuid.uuid4().hex[:12]}"
    problem = ""
    try:
        if not _write_and_find(patient, workspace):
            problem = "a message that was stored is not found again"
    except HonchoRequestError as error:
        problem = f"a message cannot be written and read: {error}"
    is_removed = _remove_scratch(patient, workspace, sleep)
    left = f"the scratch workspace {workspace} could not be removed: delete it"
    if problem:
        return Finding(
            "write", Verdict.PROBLEM, problem if is_removed else f"{problem}; and {left}"
        )
    if not is_removed:
        return Finding("write", Verdict.WARNING, f"writing works, but {left}")
    return Finding("write", Verdict.OK, "a message was written, found and removed again")


def _write_and_find(patient: Patient, workspace: str) -> bool:
    honcho, timeout, key = patient.honcho, patient.timeout, "check"
    now = datetime.fromtimestamp(patient.clock.time(), UTC)
    message = Outgoing(key, CHECK_PEER, "check", now, {"host_message_id": key})
    honcho.configure_peer(workspace, CHECK_PEER, observe_me=False, timeout=timeout)
    honcho.add_messages(workspace, SCRATCH_SESSION, [message], timeout=timeout)
    found = honcho.find_messages(workspace, SCRATCH_SESSION, [key], timeout=timeout).items
    return len(found) == 1


def _remove_scratch(patient: Patient, workspace: str, sleep: Callable[[float], None]) -> bool:
    """Delete the session, which happens in the background, and then the workspace."""
    honcho, timeout = patient.honcho, patient.timeout
    try:
        with contextlib.suppress(HonchoNotFound):
            honcho.delete_session(workspace, SCRATCH_SESSION, timeout=timeout)
        for _ in range(DELETION_TRIES):
            try:
                honcho.delete_workspace(workspace, timeout=timeout)
            except HonchoNotFound:
                return True
            except HonchoRejected:
                sleep(1.0)
            else:
                return True
    except HonchoRequestError:
        return False
    return False


def _outbox(patient: Patient) -> Finding:
    if patient.outbox is None:
        return Finding(
            "outbox",
            Verdict.WARNING,
            "there is no storage_path: what is not delivered when the process ends is lost",
        )
    try:
        tally = patient.outbox.tally(patient.server)
    except OutboxError as error:
        return Finding("outbox", Verdict.PROBLEM, str(error))
    text = f"messages waiting: {tally.waiting}, set aside: {tally.set_aside}"
    if tally.elsewhere:
        text += f", for another server: {tally.elsewhere}; restore its base_url to deliver them"
    if tally.set_aside:
        text += "; `honcho-memory outbox list` shows why"
    is_fine = not (tally.set_aside or tally.elsewhere)
    return Finding("outbox", Verdict.OK if is_fine else Verdict.WARNING, text)


def _digest(patient: Patient) -> Finding:
    if patient.digest_chars > 8:  # noqa: PLR2004 - the built-in backend's
        return Finding("ids", Verdict.OK, f"ids carry {patient.digest_chars} hex digits")
    return Finding(
        "ids",
        Verdict.WARNING,
        "ids carry 8 hex digits: users whose ids have no ASCII letters meet by accident at about "
        "77,000 of them, and somebody may make such an id on purpose. A new deployment is safer "
        "with id_digest_chars: 32; changing it later orphans every memory",
    )
