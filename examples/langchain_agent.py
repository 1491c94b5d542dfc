"""A LangChain agent with a memory of its user, over two threads.

    pip install 'honcho-memory[langchain]'
    python examples/langchain_agent.py

The model is a script and Honcho is kept in memory, so that it runs anywhere. A real host passes
its own model, and opens its memory with `open_memory({"base_url": ..., "storage_path": ...})`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from honcho_memory import open_memory
from honcho_memory.adapters.in_memory import InMemoryHoncho
from honcho_memory.adapters.langchain import HonchoMemoryMiddleware

TURNS = [
    ("monday", "I moved to Lisbon, and I am vegetarian.", "Noted. Welcome to Lisbon!"),
    ("monday", "What should I cook tonight?", "A pumpkin curry."),
    ("friday", "Where could I go for dinner?", "A vegetarian place in Alfama."),
]


@dataclass
class Context:
    """What the host knows of a run."""

    user_id: str


def user_of(context: Context) -> str:
    """Whose run it is."""
    return context.user_id


def main() -> None:
    """Run three turns in two threads, and show what the model was given in the last."""
    model = GenericFakeChatModel(messages=iter([AIMessage(answer) for *_, answer in TURNS]))
    with open_memory({"recall": {"fresh_seconds": 0}}, honcho=InMemoryHoncho()) as memory:
        agent: Any = create_agent(
            model,
            middleware=[HonchoMemoryMiddleware(memory, user_id=user_of)],
            checkpointer=InMemorySaver(),
            context_schema=Context,
        )
        state: dict[str, Any] = {}
        for thread, question, _ in TURNS:
            state = agent.invoke(
                {"messages": [HumanMessage(question)]},
                {"configurable": {"thread_id": thread}},
                context=Context("ada"),
            )
            memory.flush(timeout=5)
        for message in state["messages"]:
            print(f"{message.type}: {message.text}\n")  # noqa: T201


if __name__ == "__main__":
    main()
