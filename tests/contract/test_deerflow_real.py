"""The backend keeps DeerFlow's contract, under the real DeerFlow where it is installed."""

from __future__ import annotations

import deerflow.agents.memory.manager as contract
import pytest

from .deerflow_contract import DeerFlowContract
from .deerflow_management_contract import DeerFlowManagementContract

if hasattr(contract, "IS_DOUBLE"):
    pytest.skip("DeerFlow is not installed here, a double stands in", allow_module_level=True)


class TestRealDeerFlow(DeerFlowContract):
    pass


class TestManagementUnderRealDeerFlow(DeerFlowManagementContract):
    pass
