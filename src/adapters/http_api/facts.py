"""The routes of facts."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Response
from starlette.convertors import Convertor, register_url_convertor

from honcho_memory.adapters.http_api.answers import MemoryFact, MemoryFacts
from honcho_memory.adapters.http_api.bodies import FactChange, NewFact
from honcho_memory.adapters.http_api.caller import TheCaller
from honcho_memory.adapters.http_api.described import CREATED, problems
from honcho_memory.adapters.http_api.problem_route import ProblemRoute
from honcho_memory.domain.errors import UnknownFact

router = APIRouter(route_class=ProblemRoute)


class _AnyText(Convertor[str]):
    """An id may hold anything: what parts a path, and line breaks, which `path` stops at."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        """As it is."""
        return value

    def to_string(self, value: str) -> str:
        """As it is."""
        return value


register_url_convertor("honcho_memory_any_text", _AnyText())

ONE_FACT = "/facts/{fact_id:honcho_memory_any_text}"
FactId = Annotated[str, Path(description="The id of the fact, percent-encoded.")]


@router.get("/facts", summary="List the facts", responses=problems())
def list_facts(caller: TheCaller) -> MemoryFacts:
    """All facts about the user, newest first."""
    facts = caller.memory.facts(caller.user_id)
    return MemoryFacts(facts=[MemoryFact.of(fact) for fact in facts])


@router.post(
    "/facts",
    summary="Add a fact",
    status_code=201,
    response_description="The fact was added.",
    responses={**CREATED, **problems(400, 403, 409, 422)},
)
def add_fact(caller: TheCaller, new: NewFact, response: Response) -> MemoryFact:
    """Add a fact about the user."""
    changed = caller.memory.add_fact(
        new.content, user_id=caller.user_id, category=new.category, confidence=new.confidence
    )
    # Relative, so that it is right behind a proxy that has taken part of the path away.
    response.headers["Location"] = f"facts/{quote(changed.fact.id, safe='')}"
    return MemoryFact.of(changed.fact)


@router.get(ONE_FACT, summary="Read a fact", responses=problems(404))
def read_fact(caller: TheCaller, fact_id: FactId) -> MemoryFact:
    """One fact about the user."""
    for fact in caller.memory.facts(caller.user_id):
        if fact.id == fact_id:
            return MemoryFact.of(fact)
    raise UnknownFact(f"there is no fact {fact_id!r}")


@router.patch(ONE_FACT, summary="Change a fact", responses=problems(400, 403, 404, 409, 422))
def change_fact(caller: TheCaller, fact_id: FactId, change: FactChange) -> MemoryFact:
    """Change a fact, which keeps its id, and all that is null or missing in what is sent."""
    changed = caller.memory.update_fact(
        fact_id,
        user_id=caller.user_id,
        content=change.content,
        category=change.category,
        confidence=change.confidence,
    )
    return MemoryFact.of(changed.fact)


@router.delete(
    ONE_FACT,
    summary="Delete a fact",
    status_code=204,
    response_class=Response,
    response_model=None,
    response_description="The fact is gone.",
    responses=problems(403, 404),
)
def delete_fact(caller: TheCaller, fact_id: FactId) -> None:
    """Delete a fact; what the user said, from which it was drawn, stays."""
    caller.memory.delete_fact(fact_id, user_id=caller.user_id)
