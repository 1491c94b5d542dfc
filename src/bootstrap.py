"""The composition root: settings in, a memory out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
from dependency_injector import containers, providers

from honcho_memory.adapters.honcho_http import HttpHoncho, open_client
from honcho_memory.adapters.in_memory import InMemoryOutbox
from honcho_memory.adapters.sqlite_outbox import SqliteOutbox
from honcho_memory.application.clear_marks import ClearMarks
from honcho_memory.application.clearing import Clearing, ClearingRules
from honcho_memory.application.courier import Courier
from honcho_memory.application.delivery import Delivery
from honcho_memory.application.documents import Documents
from honcho_memory.application.equipment import Arrivals, CourierRules, Equipment
from honcho_memory.application.fact_store import FactStore
from honcho_memory.application.facts import Facts
from honcho_memory.application.importing import Importing
from honcho_memory.application.managing import Management
from honcho_memory.application.memory import HonchoMemory, Parts
from honcho_memory.application.profiles import Profiles
from honcho_memory.application.reading import ReadGate
from honcho_memory.application.recalling import Recalling, RecallRules
from honcho_memory.application.remembering import Remembering, RememberingRules
from honcho_memory.application.requests import Requests
from honcho_memory.application.searching import Searching
from honcho_memory.application.server_state import ServerState
from honcho_memory.application.veil import VeiledReads
from honcho_memory.application.warming import CHECK_ID, Warming
from honcho_memory.domain.errors import ConfigurationError, OutboxUnavailable
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.policy import SearchScope
from honcho_memory.domain.transcript import LengthLimit
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import Honcho
from honcho_memory.ports.outbox import Outbox
from honcho_memory.settings import Delivery as DeliveryMode
from honcho_memory.settings import Settings

if TYPE_CHECKING:
    from honcho_memory.adapters.otel import Telemetry

logger = logging.getLogger("honcho_memory")

OUTBOX_FILE = "honcho-memory/outbox.sqlite3"
"""Under the storage path."""
DELIVERY_THREADS = 2
"""Honcho takes 0.6 s for a batch of 100, and 3.3 s for each of four at once."""
MOST_READS = 64
"""Requests of recalls and searches that may be under way."""


class OpenOutbox(NamedTuple):
    """An outbox, and how to open it once more; None where that would find nothing."""

    outbox: Outbox
    reopen: Callable[[], Outbox] | None = None


def _client(settings: Settings) -> Iterator[httpx.Client]:
    client = open_client(
        settings.base_url,
        api_key=settings.api_key.get_secret_value() if settings.api_key else None,
        timeout_seconds=settings.timeout_seconds,
        connect_timeout_seconds=settings.connect_timeout_seconds,
    )
    yield client
    client.close()


def _outbox(settings: Settings) -> Iterator[OpenOutbox]:
    opened = _durable(settings) or OpenOutbox(_in_memory(settings))
    yield opened
    opened.outbox.close()


def _in_memory(settings: Settings) -> Outbox:
    limits = settings.outbox
    return InMemoryOutbox(max_messages=limits.max_messages, max_bytes=limits.max_bytes)


def _durable(settings: Settings) -> OpenOutbox | None:
    """The outbox on disk, if it is wanted and can be had: memory must not fail the host's start."""
    if settings.delivery_mode is not DeliveryMode.DURABLE:
        return None
    path = Path(settings.storage_path).expanduser() / OUTBOX_FILE
    limits = settings.outbox

    def open_file() -> SqliteOutbox:
        return SqliteOutbox(path, max_messages=limits.max_messages, max_bytes=limits.max_bytes)

    outbox = open_file()
    try:
        outbox.open()
    except OutboxUnavailable as error:
        logger.error(  # noqa: TRY400 - one line for the operator, a traceback would not help
            "what users say is kept in memory only and lost with this process, because the "
            "outbox cannot be used: %s",
            error,
            extra={"operation": "open", "error_type": type(error).__name__},
        )
        outbox.close()
        return None
    return OpenOutbox(outbox, open_file)


def _telemetry(settings: Settings) -> Telemetry | None:
    if not settings.telemetry:
        return None
    try:
        # An extra: nothing of it is imported for those who do not want it.
        from honcho_memory.adapters.otel import process_telemetry  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(
            "telemetry is true, but OpenTelemetry cannot be imported: "
            "pip install 'honcho-memory[otel]'"
        ) from error
    return process_telemetry()


def _observed(honcho: Honcho, telemetry: Telemetry | None, clock: Clock) -> Honcho:
    return honcho if telemetry is None else telemetry.honcho(honcho, clock)


def _recall_rules(settings: Settings) -> RecallRules:
    recall = settings.recall
    return RecallRules(
        deadline=recall.deadline_seconds,
        fresh=recall.fresh_seconds,
        stale_if_error=settings.stale_if_error_seconds,
        max_conclusions=recall.max_conclusions,
        peer_card=recall.peer_card,
        budget=settings.max_injection_chars,
    )


def _remembering_rules(settings: Settings) -> RememberingRules:
    return RememberingRules(
        server=settings.base_url,
        identities=settings.identities(),
        limit=LengthLimit(settings.message_char_limit, settings.overflow),
        backfill=settings.backfill,
    )


def _courier_rules(settings: Settings) -> CourierRules:
    return CourierRules(
        server=settings.base_url,
        timeout=settings.timeout_seconds,
        assistant_peer=settings.assistant_peer,
        assistant_observed=settings.assistant_observed,
    )


def _clearing_rules(settings: Settings) -> ClearingRules:
    courier = _courier_rules(settings)
    return ClearingRules(
        server=courier.server,
        assistant_peer=courier.assistant_peer,
        timeout=courier.timeout,
        lease=courier.lease,
    )


def _inline_timeout(settings: Settings) -> float | None:
    is_inline = settings.delivery_mode is DeliveryMode.INLINE
    return settings.timeout_seconds if is_inline else None


def _checked_workspace(settings: Settings) -> str:
    """A workspace that the key has to open: it may open no other than a shared one."""
    shared = next(iter(settings.workspace_overrides.values()), None)
    return shared or settings.workspace_prefix + CHECK_ID


def _only_user(settings: Settings) -> bool:
    return settings.search_scope is SearchScope.USER


class Container(containers.DeclarativeContainer):
    """Every part of a memory, each built once."""

    settings = providers.Dependency(instance_of=Settings)
    reader = providers.Dependency(instance_of=MessageReader)
    clock: providers.Provider[Clock] = providers.Object(time)
    client: providers.Provider[httpx.Client] = providers.Resource(_client, settings)
    telemetry: providers.Provider[Telemetry | None] = providers.ThreadSafeSingleton(
        _telemetry, settings
    )
    server: providers.Provider[Honcho] = providers.ThreadSafeSingleton(
        HttpHoncho, client, clock=clock
    )
    honcho: providers.Provider[Honcho] = providers.ThreadSafeSingleton(
        _observed, server, telemetry, clock
    )
    open_outbox: providers.Provider[OpenOutbox] = providers.Resource(_outbox, settings)
    state = providers.ThreadSafeSingleton(ServerState, clock)
    reads = providers.ThreadSafeSingleton(Requests, state, clock, limit=MOST_READS)
    writes = providers.ThreadSafeSingleton(Requests, state, clock, limit=2 * DELIVERY_THREADS)
    arrivals = providers.ThreadSafeSingleton(Arrivals)
    equipment = providers.ThreadSafeSingleton(
        Equipment,
        rules=providers.Callable(_courier_rules, settings),
        honcho=honcho,
        outbox=open_outbox.provided.outbox,
        requests=writes,
        clock=clock,
        arrivals=arrivals,
    )
    courier = providers.ThreadSafeSingleton(Courier, equipment, state)
    delivery = providers.ThreadSafeSingleton(
        Delivery,
        courier.provided.deliver_next,
        open_outbox.provided.outbox,
        settings.provided.base_url,
        state,
        clock,
        threads=DELIVERY_THREADS,
    )
    marks = providers.ThreadSafeSingleton(
        ClearMarks, open_outbox.provided.outbox, settings.provided.base_url, clock
    )
    veiled = providers.ThreadSafeSingleton(VeiledReads, honcho, marks, clock)
    recalling = providers.ThreadSafeSingleton(
        Recalling, providers.Callable(_recall_rules, settings), veiled, reads, clock
    )
    facts = providers.ThreadSafeSingleton(
        FactStore, honcho, reads, settings.provided.identities.call()
    )
    management = providers.Factory(
        Management,
        facts=providers.Factory(Facts, facts, recalling, timeout=settings.provided.timeout_seconds),
        profiles=providers.Factory(
            Profiles, veiled, honcho, reads, recalling, timeout=settings.provided.timeout_seconds
        ),
        documents=providers.Factory(
            Documents,
            facts,
            recalling,
            reads,
            deadline=settings.provided.recall.deadline_seconds,
            timeout=settings.provided.timeout_seconds,
        ),
        importing=providers.Factory(
            Importing, facts, recalling, timeout=settings.provided.timeout_seconds
        ),
        clearing=providers.Factory(
            Clearing,
            providers.Callable(_clearing_rules, settings),
            honcho=honcho,
            requests=reads,
            store=facts,
            outbox=open_outbox.provided.outbox,
            marks=marks,
            recalling=recalling,
            clock=clock,
        ),
    )
    parts = providers.Factory(
        Parts,
        identities=settings.provided.identities.call(),
        outbox=open_outbox.provided.outbox,
        reopen_outbox=open_outbox.provided.reopen,
        remembering=providers.Factory(
            Remembering, providers.Callable(_remembering_rules, settings), reader, clock
        ),
        delivery=delivery,
        arrivals=arrivals,
        recalling=recalling,
        management=management,
        searching=providers.Factory(
            Searching,
            veiled,
            reads,
            facts,
            deadline=settings.provided.recall.deadline_seconds,
            only_user=providers.Callable(_only_user, settings),
        ),
        warming=providers.Factory(
            Warming,
            honcho,
            reads,
            state,
            server=settings.provided.base_url,
            workspace=providers.Callable(_checked_workspace, settings),
        ),
        gate=providers.Factory(ReadGate, settings.provided.failure_policy.read),
        state=state,
        server=settings.provided.base_url,
        clock=clock,
        inline_timeout=providers.Callable(_inline_timeout, settings),
    )


def build(
    settings: Settings,
    *,
    honcho: Honcho | None = None,
    outbox: Outbox | None = None,
    reader: MessageReader | None = None,
    clock: Clock = time,
) -> Container:
    """Put the parts together; what is given takes the place of what the settings name."""
    container = Container(settings=settings, reader=reader or MessageReader())
    _replace(container.clock, clock)
    if honcho is not None:
        _replace(container.server, honcho)
        _replace(container.client, None)
    if outbox is not None:
        _replace(container.open_outbox, OpenOutbox(outbox))
    container.check_dependencies()
    container.telemetry()  # before anything is opened that an error would leave behind
    container.init_resources()
    return container


def _replace(provider: providers.Provider[Any], part: object) -> None:
    provider.override(providers.Object(part))  # pyright: ignore[reportUnknownMemberType] - their stub


def open_memory(
    settings: Settings | Mapping[str, object] | None = None,
    *,
    honcho: Honcho | None = None,
    outbox: Outbox | None = None,
    reader: MessageReader | None = None,
    clock: Clock = time,
) -> HonchoMemory:
    """Open a memory; `close` it, or use it as a context manager.

    No request is made: a Honcho that cannot be reached does not keep a host from starting.

    Args:
        settings: `Settings`, or a mapping with their keys; None for the defaults.
        honcho: Takes the place of the server at `base_url`; it stays the caller's to close.
        outbox: Takes the place of the one that `delivery` names; it stays the caller's to close.
        reader: How the host's messages are read.
        clock: The time.

    Raises:
        ConfigurationError: A setting is wrong; the message names it.
    """
    if not isinstance(settings, Settings):
        settings = Settings.from_mapping(settings)
    return memory_of(build(settings, honcho=honcho, outbox=outbox, reader=reader, clock=clock))


def memory_of(container: Container) -> HonchoMemory:
    """The memory that a container's parts make up; closing it releases them."""

    def release() -> None:
        container.shutdown_resources()
        container.reset_singletons()

    parts, telemetry = container.parts(on_close=release), container.telemetry()
    if telemetry is None:
        return HonchoMemory(parts)
    is_on_disk = parts.reopen_outbox is not None
    place = container.settings().storage_path if is_on_disk else id(parts.outbox)
    return telemetry.memory(parts, (parts.server, place))
