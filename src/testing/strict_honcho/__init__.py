"""A strict Honcho v3 server for tests: the same answers as a recorded real one, over a socket.

It keeps its own storage and shares no code with the rest of the library, so that a mistake there
is not repeated here. `tests/contract/test_recordings.py` holds it to the recordings.

    from honcho_memory.testing.strict_honcho import running_server

    with running_server() as server:
        client = httpx.Client(base_url=server.url)
        ...                                             # let the code under test talk to it

        assert ["hello"] == [m.content for m in server.state.messages("ws", "s")]
        assert {"observe_me": False} == server.state.peer_configuration("ws", "deerflow")
        assert ["POST"] == [request.method for request in server.requests]

        server.faults.answer(503, headers={"Retry-After": "2"}, times=3, path="/messages")
        lost = server.faults.lose_answer(method="POST", path="/messages")
        late = server.faults.carry_out_later(path="/messages")
        ...
        late.release()                                  # now the server gets round to it
        late.wait_until_done()

        server.finish_deletions()                       # until then a deleted session is 404

What is simpler than on a real server: conclusions are there at once (each statement of an
observed peer is one), "near" means sharing words, and every work unit is completed.

As a process of its own, which prints its URL as the first line:

    python -m honcho_memory.testing.strict_honcho --port 0
"""

from __future__ import annotations

from honcho_memory.testing.strict_honcho.faults import Fault, Faults
from honcho_memory.testing.strict_honcho.server import RunningServer, State, running_server
from honcho_memory.testing.strict_honcho.storage import Message
from honcho_memory.testing.strict_honcho.traffic import SeenRequest

__all__ = [
    "Fault",
    "Faults",
    "Message",
    "RunningServer",
    "SeenRequest",
    "State",
    "running_server",
]
