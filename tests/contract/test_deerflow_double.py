"""The backend keeps DeerFlow's contract, under a double of DeerFlow."""

from __future__ import annotations

from typing import Any

import deerflow.agents.memory.manager as contract
import pytest
from deerflow_host import Gateway

from .deerflow_contract import DeerFlowContract
from .deerflow_management_contract import DeerFlowManagementContract

if not hasattr(contract, "IS_DOUBLE"):
    pytest.skip("the real DeerFlow is installed and used instead", allow_module_level=True)


class TestDouble(DeerFlowContract):
    pass


class TestManagementUnderDouble(DeerFlowManagementContract):
    pass


class Backend(contract.MemoryManager):
    """A backend that fails as it is told to."""

    @classmethod
    def from_config(
        cls, backend_config: dict[str, Any], *, mode: Any = "middleware", **host_hooks: Any
    ) -> Backend:
        return cls(backend_config=backend_config, mode=mode)

    def add(self, *_: Any, **__: Any) -> None:
        pass

    def get_context(self, *_: Any, **__: Any) -> str:
        return ""

    def get_memory(self, *_: Any, **__: Any) -> dict[str, Any]:
        answer: object = self.backend_config["answer"]
        if isinstance(answer, Exception):
            raise answer
        return {"facts": [answer]}

    def create_fact(self, *_: Any, **__: Any) -> tuple[dict[str, Any], str | None]:
        return self.get_memory(), None

    def update_fact(self, *_: Any, **__: Any) -> dict[str, Any]:
        return self.get_memory()

    def delete_fact(self, *_: Any, **__: Any) -> dict[str, Any]:
        return self.get_memory()


FACT = {"id": "1", "content": "She cycles."}


@pytest.mark.parametrize(
    ("answer", "get", "create", "update", "delete"),
    [
        (FACT, 200, 409, 200, 200),
        ({**FACT, "id": 1}, 500, 409, 500, 500),
        ({**FACT, "content": None}, 500, 409, 500, 500),
        ({**FACT, "content": "\ud83d"}, 500, 409, 500, 500),
        (NotImplementedError(), 501, 501, 501, 501),
        (KeyError("1"), 500, 500, 404, 404),
        (ValueError("confidence"), 500, 400, 400, 500),
        (ValueError("Duplicate fact"), 500, 409, 409, 500),
        (ValueError("anything"), 500, 400, 400, 500),
        (contract.MemoryConflictError(), 409, 409, 409, 409),
        (contract.MemoryCorruptionError(), 500, 500, 500, 500),
        (contract.MemoryManagerError(), 500, 500, 500, 500),
    ],
)
async def test_the_gateway_answers_as_deerflows_does(
    answer: object, get: int, create: int, update: int, delete: int
) -> None:
    """The double makes of answers and exceptions what DeerFlow's HTTP API makes of them."""
    gateway = Gateway(Backend(backend_config={"answer": answer}))

    answers = [
        await gateway.get(),
        await gateway.create_fact(content="x"),
        await gateway.update_fact("1"),
        await gateway.delete_fact("1"),
    ]

    assert [get, create, update, delete] == [response.status for response in answers]


def test_a_backend_must_say_whether_it_searches() -> None:
    """As in DeerFlow, the flag and the method must agree."""

    class Liar(Backend):
        supports_search = True

    with pytest.raises(ValueError, match="supports_search"):
        Liar()


def test_tool_mode_needs_a_search() -> None:
    """As in DeerFlow, a backend without one is refused."""
    with pytest.raises(ValueError, match="tool mode"):
        Backend(mode="tool")
