"""The tools that a model has for memory in tool mode; they answer with JSON, also to failures."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from deerflow.agents.memory.manager import MemoryManager


class MemoryTools:
    """The four tools, for one user."""

    def __init__(
        self, manager: MemoryManager, *, user_id: str = "default", agent_name: str | None = None
    ) -> None:
        self._manager = manager
        self._scope: dict[str, Any] = {"user_id": user_id, "agent_name": agent_name}

    def search(self, query: str, category: str | None = None, limit: int = 10) -> Any:
        """memory_search."""

        def search() -> dict[str, Any]:
            results = self._manager.search(query, top_k=limit, category=category, **self._scope)
            return {"results": results, "count": len(results)}

        return self._answer(search)

    def add(self, content: str, category: str = "context", confidence: float = 0.7) -> Any:
        """memory_add."""

        def add() -> dict[str, Any]:
            facts = self._manager.get_memory(**self._scope)["facts"]
            if any(_same(fact["content"], content) for fact in facts):
                return {"error": "Duplicate fact"}
            _, fact_id = self._manager.create_fact(
                content, category=category, confidence=confidence, **self._scope
            )
            return {"fact_id": fact_id, "status": "added"}

        return self._answer(add)

    def update(self, fact_id: str, **changes: Any) -> Any:
        """memory_update."""

        def update() -> dict[str, Any]:
            self._manager.update_fact(fact_id, **changes, **self._scope)
            return {"fact_id": fact_id, "status": "updated"}

        return self._answer(update)

    def delete(self, fact_id: str) -> Any:
        """memory_delete."""

        def delete() -> dict[str, Any]:
            self._manager.delete_fact(fact_id, **self._scope)
            return {"fact_id": fact_id, "status": "deleted"}

        return self._answer(delete)

    def _answer(self, call: Callable[[], dict[str, Any]]) -> Any:
        """What the model reads: JSON, of which a memory must be made entirely."""
        try:
            answer = json.dumps(call(), ensure_ascii=False)
        except NotImplementedError:
            answer = json.dumps({"error": "not supported"})
        except KeyError:
            answer = json.dumps({"error": "Fact not found"})
        except Exception as error:  # noqa: BLE001 - so do the tools
            answer = json.dumps({"error": str(error)})
        return json.loads(answer)


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()
