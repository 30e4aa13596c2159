"""The two APIs that providers offer: OpenAI's chat completions, which most of them speak, and Anthropic's messages.
Pure functions.
"""

import json
from typing import Any, Protocol

from assistant.model.anthropic import Anthropic
from assistant.model.completion import Completion, StatusError, Step, objects, raise_for_error
from assistant.model.parts import Part
from assistant.model.prompting import Prompt, write_message
from berth_agent.providers import Provider

__all__ = ["Completion", "Dialect", "Prompt", "StatusError", "dialect_of"]


class Dialect(Protocol):
    path: str

    def headers(self, key: str) -> dict[str, str]: ...

    def body(self, model: str, prompt: Prompt, *, stream: bool) -> dict[str, Any]: ...

    def add_event(self, event: dict[str, Any], completion: Completion) -> None:
        """Adds one event of a stream. Raises StatusError if the event reports an error."""

    def add_response(self, document: dict[str, Any], completion: Completion) -> None:
        """Adds a whole answer that was not streamed. Raises StatusError if it reports an error."""


class OpenAI:
    path = "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def body(self, model: str, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        messages = [{"role": "system", "content": prompt.instructions}]
        messages += [write_message(message, self._attach) for message in prompt.messages]
        messages += [each for step in prompt.steps for each in self._write(step)]
        body: dict[str, Any] = {"model": model, "messages": messages}
        if prompt.tools:
            functions = [
                {"name": t.name, "description": t.description, "parameters": t.parameters} for t in prompt.tools
            ]
            body["tools"] = [{"type": "function", "function": each} for each in functions]
            body |= {} if prompt.may_call else {"tool_choice": "none"}
        return body | {"stream": True, "stream_options": {"include_usage": True}} if stream else body

    def add_event(self, event: dict[str, Any], completion: Completion) -> None:
        raise_for_error(event)
        self._count(event, completion)
        for choice in objects(event.get("choices"))[:1]:
            self._add(choice.get("delta"), completion)
            completion.is_complete = completion.is_complete or bool(choice.get("finish_reason"))

    def add_response(self, document: dict[str, Any], completion: Completion) -> None:
        raise_for_error(document)
        self._count(document, completion)
        choices = objects(document.get("choices"))
        if not choices:
            raise ValueError("an answer without choices")
        self._add(choices[0].get("message"), completion)
        completion.is_complete = True

    @staticmethod
    def _write(step: Step) -> list[dict[str, Any]]:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.object)}}
            for call in step.calls
        ]
        messages: dict[str, Any] = {"role": "assistant", "content": step.text or None, "tool_calls": calls}
        answers = zip(step.calls, step.results, strict=True)
        return [messages, *({"role": "tool", "tool_call_id": call.id, "content": result} for call, result in answers)]

    @staticmethod
    def _attach(part: Part) -> dict[str, Any]:
        if part.is_image:
            return {"type": "image_url", "image_url": {"url": part.address}}
        return {"type": "file", "file": {"filename": part.name, "file_data": part.address}}

    @staticmethod
    def _add(messages: object, completion: Completion) -> None:
        if not isinstance(messages, dict):
            return
        completion.add(messages.get("content"))
        completion.add(messages.get("refusal"))
        for index, call in enumerate(objects(messages.get("tool_calls"))):
            function = call.get("function")
            facts = function if isinstance(function, dict) else {}
            completion.add_call(
                call.get("index", index),
                call_id=call.get("id"),
                name=facts.get("name"),
                arguments=facts.get("arguments"),
            )

    @staticmethod
    def _count(document: dict[str, Any], completion: Completion) -> None:
        usage = document.get("usage")
        if isinstance(usage, dict):
            completion.count(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def dialect_of(provider: Provider) -> Dialect:
    return Anthropic() if provider is Provider.ANTHROPIC else OpenAI()
