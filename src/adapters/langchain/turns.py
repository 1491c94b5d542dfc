"""Which messages of a thread belong into whose memory.

A thread may have runs of several users, and runs that are not to be remembered. So a run notes in
the checkpoint whose its messages are, and hands over those of its own user alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage

NOBODY = ""
_MOVED = "__user"


class Noted(TypedDict):
    """What is kept of a thread between the steps of a run, and from run to run.

    Attributes:
        whose: By message id, whose memory it belongs into.
        asked: What the user said in this run; a summarization may take it out of the thread.
    """

    whose: dict[str, str]
    asked: list[AnyMessage]


NOTHING_NOTED = Noted(whose={}, asked=[])


def _merged(old: Mapping[str, Noted], new: Mapping[str, Noted]) -> dict[str, Noted]:
    return {**old, **new}


class MemoryState(AgentState[Any]):
    """An agent's state, with what the middleware notes under its marker."""

    honcho_memory: NotRequired[Annotated[dict[str, Noted], _merged, PrivateStateAttr]]


def moved_id(message_id: str) -> str:
    """The id of a message that had to make room for another, which has its id now."""
    return message_id + _MOVED


def host_id(message: AnyMessage) -> str:
    """The id that the host gave a message, wherever it was moved to."""
    message_id = message.id or ""
    while message_id.endswith(_MOVED):
        message_id = message_id.removesuffix(_MOVED)
    return message_id


def begun(messages: Sequence[AnyMessage], noted: Noted, owner: str) -> Noted:
    """Note whose the messages are as a run begins.

    New are those after the last answer. What is not noted before them belongs to the run that
    the message before it is of, which may have broken off; what was there before anything was
    noted belongs to nobody.

    Args:
        messages: The thread, without snapshots.
        noted: By earlier runs.
        owner: Whose run it is; `NOBODY` for one that is not to be remembered.
    """
    answers = [place for place, each in enumerate(messages) if isinstance(each, AIMessage)]
    new_from = answers[-1] + 1 if answers else 0
    whose: dict[str, str] = {}
    latest = NOBODY
    for place, message in enumerate(messages):
        key = host_id(message)
        latest = noted["whose"].get(key, owner if place >= new_from else latest)
        whose[key] = latest
    asked = [each for each in messages[new_from:] if whose[host_id(each)] == owner != NOBODY]
    return Noted(whose=whose, asked=asked)


def ended(messages: Sequence[AnyMessage], noted: Noted, owner: str) -> Noted:
    """Note whose the messages are as a run ends: what is not noted came with it."""
    whose = {key: noted["whose"].get(key, owner) for key in map(host_id, messages)}
    return Noted(whose=whose, asked=[])


def of_owner(messages: Sequence[AnyMessage], noted: Noted, owner: str) -> list[AnyMessage]:
    """The messages of an owner as the host knows them, also what is no longer in the thread."""
    there = set(map(host_id, messages))
    gone = [each for each in noted["asked"] if host_id(each) not in there]
    whose = noted["whose"]
    own = [each for each in messages if whose.get(host_id(each), owner) == owner]
    return [each.model_copy(update={"id": host_id(each) or None}) for each in (*gone, *own)]
