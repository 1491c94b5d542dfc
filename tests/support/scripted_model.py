"""A chat model that answers by a script and keeps every prompt that it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

Script = Callable[[Sequence[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Answers with what `script` makes of the prompt.

    Args:
        script: Without one, every question is answered with "answer to" and itself.
    """

    _script: Script = PrivateAttr()
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list[list[BaseMessage]])

    def __init__(self, script: Script | None = None) -> None:
        super().__init__()
        self._script = script or _answer

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        """Every prompt, as it was given."""
        return self._prompts

    def prompt_texts(self) -> list[list[str]]:
        """What a provider sees of every prompt: the kind and the text of each message."""
        return [
            [f"{message.type}: {message.text}" for message in prompt] for prompt in self._prompts
        ]

    def bind_tools(self, tools: Sequence[Any], **_options: Any) -> Any:
        """The model needs no tools to be bound: the script calls them."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **_options: Any,
    ) -> ChatResult:
        self._prompts.append([message.model_copy() for message in messages])
        return ChatResult(generations=[ChatGeneration(message=self._script(messages))])


def calling(name: str, arguments: dict[str, Any]) -> Script:
    """A script that calls a tool once, and then repeats what the tool answered."""

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return AIMessage(str(last.content))
        call = {"name": name, "args": arguments, "id": "call-1"}
        return AIMessage("Let me look…", tool_calls=[call])

    return script


def _answer(messages: Sequence[BaseMessage]) -> AIMessage:
    return AIMessage(f"answer to {messages[-1].text}")
