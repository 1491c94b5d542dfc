"""The route of search."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from honcho_memory.adapters.http_api.answers import FoundFact, FoundMessage, SearchResult
from honcho_memory.adapters.http_api.bodies import VISIBLE_TEXT
from honcho_memory.adapters.http_api.caller import TheCaller
from honcho_memory.adapters.http_api.described import FALLIBLE, UNAVAILABLE, problems
from honcho_memory.adapters.http_api.problem_route import ProblemRoute
from honcho_memory.domain.errors import NoUser
from honcho_memory.domain.facts import LONGEST_CATEGORY
from honcho_memory.domain.results import Fact

MOST_HITS = 100
"""More are never found."""

router = APIRouter(route_class=ProblemRoute)

Wanted = Annotated[
    str,
    Query(alias="q", pattern=VISIBLE_TEXT, description="What to look for.", examples=["tea"]),
]
HowMany = Annotated[int, Query(ge=1, le=MOST_HITS, description="How many at most.")]
Category = Annotated[
    str | None,
    Query(
        max_length=LONGEST_CATEGORY,
        description="Only of this category; messages are of category `memory`.",
        examples=["preference"],
    ),
]


@router.get("/search", summary="Search the memory", responses={**FALLIBLE, **problems(422)})
def search_memory(
    caller: TheCaller,
    response: Response,
    wanted: Wanted,
    top_k: HowMany = 5,
    category: Category = None,
) -> SearchResult:
    """Facts and messages near a text, in bounded time.

    Where Honcho cannot be asked, the read policy of the memory decides between an error and
    nothing found.
    """
    found = caller.memory.search(
        wanted, user_id=caller.user_id, top_k=top_k, category=category or None
    )
    if not found.is_asked:
        raise NoUser("this user id stands for nobody")
    if found.error is not None:
        response.headers[UNAVAILABLE] = "true"
    hits = [FoundFact.of(hit) if isinstance(hit, Fact) else FoundMessage.of(hit) for hit in found]
    return SearchResult(hits=hits)
