"""How the providers are asked and how they answer: OpenAI's chat completions, which most others speak, and Anthropic's
messages. Pure rules.
"""

import json
from typing import Any, Protocol

from assistant.model.anthropic import Anthropic
from assistant.model.heard import Heard, StatusError, Step, check, objects
from assistant.model.parts import Part
from assistant.model.prompting import Prompt, write_message
from berth_agent.providers import Provider

__all__ = ["Dialect", "Heard", "Prompt", "StatusError", "dialect_of"]


class Dialect(Protocol):
    path: str

    def headers(self, key: str) -> dict[str, str]: ...

    def body(self, model: str, prompt: Prompt, *, stream: bool) -> dict[str, Any]: ...

    def hear(self, event: dict[str, Any], heard: Heard) -> None:
        """Adds what an event of a stream says. Raises StatusError for an error in it."""

    def hear_whole(self, document: dict[str, Any], heard: Heard) -> None:
        """Adds what an answer that is no stream says."""


class OpenAI:
    path = "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def body(self, model: str, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        said = [{"role": "system", "content": prompt.instructions}]
        said += [write_message(message, self._attach) for message in prompt.messages]
        said += [each for step in prompt.steps for each in self._write(step)]
        asked: dict[str, Any] = {"model": model, "messages": said}
        if prompt.tools:
            functions = [
                {"name": t.name, "description": t.description, "parameters": t.parameters} for t in prompt.tools
            ]
            asked["tools"] = [{"type": "function", "function": each} for each in functions]
            asked |= {} if prompt.may_call else {"tool_choice": "none"}
        return asked | {"stream": True, "stream_options": {"include_usage": True}} if stream else asked

    def hear(self, event: dict[str, Any], heard: Heard) -> None:
        check(event)
        self._count(event, heard)
        for choice in objects(event.get("choices"))[:1]:
            self._add(choice.get("delta"), heard)
            heard.is_complete = heard.is_complete or bool(choice.get("finish_reason"))

    def hear_whole(self, document: dict[str, Any], heard: Heard) -> None:
        check(document)
        self._count(document, heard)
        choices = objects(document.get("choices"))
        if not choices:
            raise ValueError("an answer without choices")
        self._add(choices[0].get("message"), heard)
        heard.is_complete = True

    @staticmethod
    def _write(step: Step) -> list[dict[str, Any]]:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.object)}}
            for call in step.calls
        ]
        said: dict[str, Any] = {"role": "assistant", "content": step.text or None, "tool_calls": calls}
        answers = zip(step.calls, step.results, strict=True)
        return [said, *({"role": "tool", "tool_call_id": call.id, "content": result} for call, result in answers)]

    @staticmethod
    def _attach(part: Part) -> dict[str, Any]:
        if part.is_image:
            return {"type": "image_url", "image_url": {"url": part.address}}
        return {"type": "file", "file": {"filename": part.name, "file_data": part.address}}

    @staticmethod
    def _add(said: object, heard: Heard) -> None:
        if not isinstance(said, dict):
            return
        heard.add(said.get("content"))
        heard.add(said.get("refusal"))
        for place, call in enumerate(objects(said.get("tool_calls"))):
            function = call.get("function")
            facts = function if isinstance(function, dict) else {}
            heard.add_call(
                call.get("index", place),
                number=call.get("id"),
                name=facts.get("name"),
                arguments=facts.get("arguments"),
            )

    @staticmethod
    def _count(document: dict[str, Any], heard: Heard) -> None:
        usage = document.get("usage")
        if isinstance(usage, dict):
            heard.count(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def dialect_of(provider: Provider) -> Dialect:
    return Anthropic() if provider is Provider.ANTHROPIC else OpenAI()
