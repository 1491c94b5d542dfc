"""The library's main job, shown on one conversation."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.application.memory import HonchoMemory
from honcho_memory.bootstrap import build, memory_of
from honcho_memory.cli.conversation import TRANSCRIPT
from honcho_memory.domain.errors import HonchoMemoryError
from honcho_memory.domain.host_messages import MessageReader
from honcho_memory.domain.messages import StoredMessage
from honcho_memory.domain.results import Fact
from honcho_memory.domain.transcript import LengthLimit, message_key, sort_transcript
from honcho_memory.ports.honcho import Honcho
from honcho_memory.settings import Settings

QUERY = "food in Lisbon"
_PREVIEW = 60


def run_demo(
    console: Console, settings: Settings, *, user_id: str, thread_id: str, is_live: bool
) -> None:
    """Hand over the conversation and print what becomes of it.

    Args:
        console: Where to print.
        settings: Of the memory.
        user_id: Whose memory it becomes.
        thread_id: Which conversation it becomes.
        is_live: Whether to use the server of the settings rather than one in memory.

    Raises:
        HonchoMemoryError: The server could not be used.
    """
    reader = MessageReader(id_suffix="__user")
    container = build(settings, honcho=None if is_live else InMemoryHoncho(), reader=reader)
    honcho = container.honcho()
    with memory_of(container) as memory:
        where = settings.base_url if is_live else "a Honcho kept in memory"
        console.rule(f"[bold]A conversation of {len(TRANSCRIPT)} messages, and {escape(where)}")
        accepted = memory.remember(thread_id, TRANSCRIPT, user_id=user_id, agent_name="demo")
        if not memory.flush(settings.timeout_seconds):
            failure = memory.stats().last_failure
            reason = failure.reason if failure else "it takes longer than timeout_seconds"
            raise HonchoMemoryError(f"the conversation could not be delivered: {reason}")
        again = memory.remember(thread_id, TRANSCRIPT, user_id=user_id, agent_name="demo")
        console.print(
            f"Handed over once: {accepted} messages are remembered. "
            f"Handed over again, as a host does after every turn: {again}."
        )
        stored = _stored(honcho, settings, user_id, thread_id)
        console.print(_stored_table(stored), _left_out_table(reader, settings))
        _show_reads(console, memory, user_id)


def _stored(
    honcho: Honcho, settings: Settings, user_id: str, thread_id: str
) -> tuple[StoredMessage, ...]:
    """What Honcho itself says that it holds."""
    identities = settings.identities()
    user = identities.user(user_id)
    if user is None:
        raise HonchoMemoryError("the demo needs a user")
    reader = MessageReader(id_suffix="__user")
    keys = [message_key(host_id) for raw in TRANSCRIPT if (host_id := reader.id(raw))]
    return honcho.find_messages(
        user.workspace, identities.session(thread_id), keys, timeout=settings.timeout_seconds
    ).items


def _stored_table(stored: tuple[StoredMessage, ...]) -> Table:
    table = Table(title="Stored in Honcho", title_justify="left", expand=True)
    for heading in ("id", "peer", "said at", "content"):
        table.add_column(heading, no_wrap=heading != "content")
    for message in stored:
        table.add_row(
            message.key,
            message.author,
            f"{message.created_at:%Y-%m-%d %H:%M}",
            escape(message.content),
        )
    return table


def _left_out_table(reader: MessageReader, settings: Settings) -> Table:
    limit = LengthLimit(settings.message_char_limit, settings.overflow)
    result = sort_transcript(map(reader.read, TRANSCRIPT), limit)
    table = Table(title="Left out", title_justify="left", expand=True)
    for heading in ("id", "rule", "content"):
        table.add_column(heading, no_wrap=heading != "content")
    for left in result.left_out:
        preview = " ".join(str(left.message.content).split())
        table.add_row(left.message.id, left.rule, escape(preview[:_PREVIEW]))
    return table


def _show_reads(console: Console, memory: HonchoMemory, user_id: str) -> None:
    recall = memory.recall(user_id)
    text = recall.text or "(Honcho has not derived anything yet: it does so in the background)"
    console.print(Panel(escape(text), title="Recalled, as it is put before the model"))
    table = Table(title=f"Found for “{QUERY}”", title_justify="left", expand=True)
    for heading in ("category", "by", "content"):
        table.add_column(heading, no_wrap=heading != "content")
    for hit in memory.search(QUERY, user_id=user_id, top_k=5):
        by = "" if isinstance(hit, Fact) else hit.peer
        table.add_row(hit.category, by, escape(hit.content))
    console.print(table)
