"""Anthropic's messages. Pure rules."""

import json
from typing import Any

from assistant.model.heard import Heard, Step, check, objects
from assistant.model.parts import Part
from assistant.model.prompting import Prompt, write_message

LONGEST_ANSWER = 4096  # tokens; Anthropic wants a bound, and refuses more than a model can


class Anthropic:
    path = "/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def body(self, model: str, prompt: Prompt, *, stream: bool) -> dict[str, Any]:
        said = [write_message(message, self._attach) for message in prompt.messages]
        said += [each for step in prompt.steps for each in self._write(step)]
        asked: dict[str, Any] = {"model": model, "max_tokens": LONGEST_ANSWER, "system": prompt.instructions}
        asked["messages"] = said
        if prompt.tools:
            asked["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": t.parameters} for t in prompt.tools
            ]
            asked |= {} if prompt.may_call else {"tool_choice": {"type": "none"}}
        return asked | {"stream": True} if stream else asked

    def hear(self, event: dict[str, Any], heard: Heard) -> None:
        check(event)
        kind, place = event.get("type"), event.get("index")
        if kind == "message_start":
            self._count(event.get("message"), heard)
        elif kind == "content_block_start":
            self._begin_call(place, event.get("content_block"), heard)
        elif kind == "content_block_delta":
            for delta in objects([event.get("delta")]):
                heard.add(delta.get("text"))  # that of thoughts has another name
                heard.add_more(place, delta.get("partial_json"))
        elif kind == "message_delta":
            self._count(event, heard)
        elif kind == "message_stop":
            heard.is_complete = True

    def hear_whole(self, document: dict[str, Any], heard: Heard) -> None:
        check(document)
        content = document.get("content")
        if not isinstance(content, list):
            raise ValueError("an answer without content")  # noqa: TRY004 - bad content, as bad JSON is
        heard.add(content)
        for place, block in enumerate(objects(content)):
            self._begin_call(place, block, heard)
            if block.get("type") == "tool_use":
                heard.add_call(place, arguments=json.dumps(block.get("input") or {}))
        self._count(document, heard)
        heard.is_complete = True

    @staticmethod
    def _begin_call(place: object, block: object, heard: Heard) -> None:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            heard.add_call(place, number=block.get("id"), name=block.get("name"))

    @staticmethod
    def _write(step: Step) -> list[dict[str, Any]]:
        said = [{"type": "text", "text": step.text}] if step.text.strip() else []
        calls = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.object} for call in step.calls]
        answers = zip(step.calls, step.results, strict=True)
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": result} for call, result in answers]
        return [{"role": "assistant", "content": [*said, *calls]}, {"role": "user", "content": results}]

    @staticmethod
    def _attach(part: Part) -> dict[str, Any]:
        source = {"type": "base64", "media_type": part.mime, "data": part.slot}
        return {"type": "image" if part.is_image else "document", "source": source}

    @staticmethod
    def _count(document: object, heard: Heard) -> None:
        usage = document.get("usage") if isinstance(document, dict) else None
        if isinstance(usage, dict):
            heard.count(usage.get("input_tokens"), usage.get("output_tokens"))
