"""A host of one's own: a chat loop with a memory of its user.

    pip install honcho-memory
    python examples/own_host.py               # type something; an empty line ends it

Honcho is kept in memory, and the "model" repeats what it was given. A real host opens its memory
with `open_memory({"base_url": ..., "storage_path": ...})`.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from honcho_memory import Memory, open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho

Model = Callable[[str], str]


def chat(memory: Memory, model: Model, user_id: str, hear: Callable[[], str]) -> list[str]:
    """Talk until the user says nothing; returns the answers."""
    thread_id, thread, answers = uuid4().hex, list[dict[str, str]](), list[str]()
    known = memory.recall(user_id).text
    while said := hear():
        thread.append({"role": "user", "id": uuid4().hex, "content": said})
        answers.append(model(f"<memory>\n{known}\n</memory>\n{said}"))
        thread.append({"role": "assistant", "id": uuid4().hex, "content": answers[-1]})
        memory.remember(thread_id, thread, user_id=user_id)
    return answers


def main() -> None:
    """Chat twice, so that the second time something is known."""
    with open_memory(honcho=InMemoryHoncho()) as memory:
        for _ in range(2):
            for answer in chat(memory, str.upper, "ada", lambda: input("> ")):
                print(answer)  # noqa: T201
            memory.flush(timeout=5)


if __name__ == "__main__":
    main()
