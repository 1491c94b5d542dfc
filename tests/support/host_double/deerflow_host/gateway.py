"""DeerFlow's HTTP API for memory: which call it makes, and what becomes of an exception."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deerflow.agents.memory.manager import (
    MemoryConflictError,
    MemoryManager,
)

from deerflow_host.document import Document


@dataclass(frozen=True, slots=True)
class Response:
    """An answer over HTTP."""

    status: int
    body: Any


_FAILURE = Response(500, "")


class Gateway:
    """The memory routes, for one user; none of them knows an agent."""

    def __init__(self, manager: MemoryManager, *, user_id: str = "default") -> None:
        self._manager = manager
        self._user: dict[str, Any] = {"user_id": user_id}

    async def get(self) -> Response:
        """GET /api/memory, and GET /api/memory/export."""
        return await self._answer(lambda: self._manager.get_memory(**self._user))

    async def status(self) -> Response:
        """GET /api/memory/status: the configuration as it is, and the document."""
        answer = await self.get()
        body = {"config": self._manager.backend_config, "data": answer.body}
        return Response(answer.status, body if answer.status == 200 else answer.body)

    async def reload(self) -> Response:
        """POST /api/memory/reload."""

        def reload() -> dict[str, Any]:
            try:
                return self._manager.reload_memory(**self._user)
            except NotImplementedError:
                return self._manager.get_memory(**self._user)

        return await self._answer(reload)

    async def clear(self) -> Response:
        """DELETE /api/memory."""
        return await self._answer(lambda: self._manager.clear_memory(**self._user))

    async def import_memory(self, document: dict[str, Any]) -> Response:
        """POST /api/memory/import."""
        return await self._answer(lambda: self._manager.import_memory(document, **self._user))

    async def create_fact(self, **fact: Any) -> Response:
        """POST /api/memory/facts."""

        def create() -> dict[str, Any]:
            document, fact_id = self._manager.create_fact(**fact, **self._user)
            if fact_id is None:
                raise MemoryConflictError("not stored")
            return document

        return await self._answer(create, knows_values=True)

    async def update_fact(self, fact_id: str, **changes: Any) -> Response:
        """PATCH /api/memory/facts/{id}."""
        return await self._answer(
            lambda: self._manager.update_fact(fact_id, **changes, **self._user),
            knows_values=True,
            knows_keys=True,
        )

    async def delete_fact(self, fact_id: str) -> Response:
        """DELETE /api/memory/facts/{id}."""
        return await self._answer(
            lambda: self._manager.delete_fact(fact_id, **self._user), knows_keys=True
        )

    async def _answer(
        self,
        call: Callable[[], dict[str, Any]],
        *,
        knows_values: bool = False,
        knows_keys: bool = False,
    ) -> Response:
        try:
            document = Document.model_validate(await asyncio.to_thread(call))
            return Response(200, json.loads(document.model_dump_json(by_alias=True)))
        except NotImplementedError:
            return Response(501, "not supported")
        except MemoryConflictError as error:
            return Response(409, str(error))
        except KeyError:
            return Response(404, "not found") if knows_keys else _FAILURE
        except ValueError as error:
            # A document that is none, or has no UTF-8, is a ValueError of pydantic's.
            is_known = knows_values and type(error) is ValueError
            return _bad_value(str(error)) if is_known else _FAILURE
        except Exception:  # noqa: BLE001 - so does the gateway, for MemoryCorruptionError too
            return _FAILURE


def _bad_value(text: str) -> Response:
    if text == "Duplicate fact":
        return Response(409, text)
    if text == "confidence":
        return Response(400, "must be between 0 and 1")
    return Response(400, "content cannot be empty")
