"""The OpenAPI document says all that can happen, and no request makes the router fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, settings

from honcho_memory import open_memory
from honcho_memory.adapters.http_api import memory_router
from honcho_memory.adapters.in_memory import InMemoryHoncho, ManualClock

Test = Callable[[Any], None]

CLOCK = ManualClock()
APP = FastAPI(redirect_slashes=False)
APP.include_router(
    memory_router(
        open_memory(honcho=InMemoryHoncho(clock=CLOCK), clock=CLOCK),
        user_id=lambda: "ada",
        clock=CLOCK,
    )
)


def strict() -> dict[str, Any]:
    """The document without the answers that are left to the host, which allow everything."""
    document = FastAPI.openapi(APP)
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("default", None)
    return document


setattr(APP, "openapi", strict)  # noqa: B010 - mypy would not let it be assigned
SCHEMA: Any = schemathesis.openapi.from_asgi("/openapi.json", APP)
every_request: Callable[[Test], Test] = SCHEMA.parametrize()


@every_request
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
        HealthCheck.too_slow,
    ],
)
def test_every_answer_is_one_that_the_document_tells_of(case: Any) -> None:
    """Whatever the path, the parameters, the method and the body are."""
    case.call_and_validate()
