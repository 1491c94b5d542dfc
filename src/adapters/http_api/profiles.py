"""The routes of the profile."""

from __future__ import annotations

from fastapi import APIRouter

from honcho_memory.adapters.http_api.answers import MemoryProfile
from honcho_memory.adapters.http_api.bodies import NewProfile
from honcho_memory.adapters.http_api.caller import TheCaller
from honcho_memory.adapters.http_api.described import problems
from honcho_memory.adapters.http_api.problem_route import ProblemRoute

router = APIRouter(route_class=ProblemRoute)


@router.get("/profile", summary="Read the profile", responses=problems())
def read_profile(caller: TheCaller) -> MemoryProfile:
    """What the user wants to be known by; empty when they have not said."""
    return MemoryProfile.of(caller.memory.profile(caller.user_id))


@router.put("/profile", summary="Replace the profile", responses=problems(400, 403, 422))
def replace_profile(caller: TheCaller, new: NewProfile) -> MemoryProfile:
    """Overwrite all that the user wants to be known by; answers with what is read from now on."""
    profile = caller.memory.set_profile(new.profile(), user_id=caller.user_id)
    return MemoryProfile.of(profile)
