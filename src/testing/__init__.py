"""What an implementation of a port has to do, as pytest classes to inherit; extra `[testing]`.

    from honcho_memory.testing import MakeOutbox, OutboxContract

    class TestMyOutbox(OutboxContract):
        @pytest.fixture
        def make_outbox(self) -> MakeOutbox:
            return MyOutbox

`HonchoContract` and `ManagementContract` are for a `ports.honcho.Honcho`, `OutboxContract` for a
`ports.outbox.Outbox`, `HostContract` for whatever drives a memory. `running_server` is a strict
Honcho v3 over a socket; `pytest_plugins = ["honcho_memory.testing.fixtures"]` in a `conftest.py`
makes one a fixture, `honcho_server`.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "honcho_memory.testing.honcho_contract",
    "honcho_memory.testing.host_contract",
    "honcho_memory.testing.management_contract",
    "honcho_memory.testing.outbox_contract",
)

from honcho_memory.testing.honcho_contract import HonchoContract, Outside, Seen  # noqa: E402
from honcho_memory.testing.host_contract import HostContract, HostUnderTest, OpenHost  # noqa: E402
from honcho_memory.testing.management_contract import (  # noqa: E402
    ManagedOutside,
    ManagementContract,
)
from honcho_memory.testing.outbox_contract import MakeOutbox, OutboxContract  # noqa: E402
from honcho_memory.testing.strict_honcho import RunningServer, running_server  # noqa: E402

__all__ = [
    "HonchoContract",
    "HostContract",
    "HostUnderTest",
    "MakeOutbox",
    "ManagedOutside",
    "ManagementContract",
    "OpenHost",
    "OutboxContract",
    "Outside",
    "RunningServer",
    "Seen",
    "running_server",
]
