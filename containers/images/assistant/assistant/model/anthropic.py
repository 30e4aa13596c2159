"""Translates to and from Anthropic's Messages API. Pure functions."""

import json
from typing import Any

from assistant.model.completion import Completion, Step, objects, raise_for_error
from assistant.model.parts import Part
from assistant.model.prompting import Prompt, write_message

LONGEST_ANSWER = 4096  # tokens; Anthropic requires a limit and refuses one above the model's own


class Anthropic:
    path = "/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def body(self, model: str, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        messages = [write_message(message, self._attach) for message in prompt.messages]
        messages += [each for step in prompt.steps for each in self._write(step)]
        body: dict[str, Any] = {"model": model, "max_tokens": LONGEST_ANSWER, "system": prompt.instructions}
        body["messages"] = messages
        if prompt.tools:
            body["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": t.parameters} for t in prompt.tools
            ]
            body |= {} if prompt.may_call else {"tool_choice": {"type": "none"}}
        return body | {"stream": True} if stream else body

    def add_event(self, event: dict[str, Any], completion: Completion) -> None:
        raise_for_error(event)
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            self._count(event.get("message"), completion)
        elif kind == "content_block_start":
            self._start_call(index, event.get("content_block"), completion)
        elif kind == "content_block_delta":
            for delta in objects([event.get("delta")]):
                completion.add(delta.get("text"))  # the text of thoughts has another key
                completion.extend_call(index, delta.get("partial_json"))
        elif kind == "message_delta":
            self._count(event, completion)
        elif kind == "message_stop":
            completion.is_complete = True

    def add_response(self, document: dict[str, Any], completion: Completion) -> None:
        raise_for_error(document)
        content = document.get("content")
        if not isinstance(content, list):
            raise ValueError("an answer without content")  # noqa: TRY004 - bad content, like bad JSON
        completion.add(content)
        for index, block in enumerate(objects(content)):
            self._start_call(index, block, completion)
            if block.get("type") == "tool_use":
                completion.add_call(index, arguments=json.dumps(block.get("input") or {}))
        self._count(document, completion)
        completion.is_complete = True

    @staticmethod
    def _start_call(index: object, block: object, completion: Completion) -> None:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            completion.add_call(index, call_id=block.get("id"), name=block.get("name"))

    @staticmethod
    def _write(step: Step) -> list[dict[str, Any]]:
        messages = [{"type": "text", "text": step.text}] if step.text.strip() else []
        calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.object} for call in step.calls]
        answers = zip(step.calls, step.results, strict=True)
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": result} for call, result in answers]
        return [{"role": "assistant", "content": [*messages, *calls]}, {"role": "user", "content": results}]

    @staticmethod
    def _attach(part: Part) -> dict[str, Any]:
        source = {"type": "base64", "media_type": part.mime, "data": part.placeholder}
        return {"type": "image" if part.is_image else "document", "source": source}

    @staticmethod
    def _count(document: object, completion: Completion) -> None:
        usage = document.get("usage") if isinstance(document, dict) else None
        if isinstance(usage, dict):
            completion.count(usage.get("input_tokens"), usage.get("output_tokens"))
