"""The routes of a memory as a whole."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from honcho_memory.adapters.http_api.answers import ClearResult, ImportResult, MemoryDocument
from honcho_memory.adapters.http_api.bodies import DocumentToImport
from honcho_memory.adapters.http_api.caller import TheCaller
from honcho_memory.adapters.http_api.described import FALLIBLE, UNAVAILABLE, problems
from honcho_memory.adapters.http_api.problem_route import ProblemRoute
from honcho_memory.domain.errors import NoUser

router = APIRouter(route_class=ProblemRoute)

Reload = Annotated[bool, Query(description="Without what is kept of earlier answers.")]


@router.get("", summary="Read the memory", responses={**FALLIBLE, **problems(422)})
def read_memory(caller: TheCaller, response: Response, *, reload: Reload = False) -> MemoryDocument:
    """All that is known of the user, in bounded time.

    Where Honcho cannot be asked, the read policy of the memory decides between an error and an
    empty document.
    """
    document = caller.memory.document(caller.user_id, reload=reload)
    if not document.is_asked:
        raise NoUser("this user id stands for nobody")
    if document.error is not None:
        response.headers[UNAVAILABLE] = "true"
    return MemoryDocument.of(caller.served.mapping(document))


@router.delete("", summary="Clear the memory", responses=problems(403))
def clear_memory(caller: TheCaller) -> ClearResult:
    """Delete all that is known of the user; it does not come back with an old conversation.

    What is said from now on is remembered. Safe to do again, above all after an error.
    """
    return ClearResult.of(caller.memory.clear(caller.user_id))


@router.get("/export", summary="Export the memory", responses=problems())
def export_memory(caller: TheCaller) -> MemoryDocument:
    """All that is known of the user, read anew; never empty for want of an answer."""
    return MemoryDocument.of(caller.served.mapping(caller.memory.export(caller.user_id)))


@router.post("/import", summary="Import a memory", responses=problems(400, 403, 422))
def import_memory(caller: TheCaller, document: DocumentToImport) -> ImportResult:
    """Take over a memory document. What is there stays; importing twice changes nothing."""
    imported = caller.memory.import_document(document.document(), user_id=caller.user_id)
    return ImportResult.of(imported)
