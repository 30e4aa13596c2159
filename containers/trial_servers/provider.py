"""A fake model provider with the APIs of OpenAI and Anthropic, with whole answers or streams."""

import json
import time
from email.message import Message
from typing import Any

from containers.trial_servers.constants import ASKED, REPLY, log_event

_KEY_REJECTED = "Incorrect API key provided."


class Provider:
    """Answers like OpenAI and Anthropic, at once or as a stream. It has every model that it is asked for."""

    def __init__(self, key: str) -> None:
        self._key = key

    def answer(self, path: str, headers: Message, fields: dict[str, Any]) -> tuple[int, Any]:
        """Returns the status and the answer. An answer that is text is a stream of events."""
        bearer = (headers.get("authorization") or "").removeprefix("Bearer ")
        is_anthropic = path == "/messages" or "anthropic-version" in headers
        if self._key not in {headers.get("x-api-key"), bearer}:
            error = {"type": "authentication_error" if is_anthropic else "invalid_request_error"}
            error |= {"message": _KEY_REJECTED, "code": "invalid_api_key"}
            return 401, {"type": "error", "error": error}
        if path.startswith("/models") or path in {"/key", "/auth/key"}:
            return 200, _facts(path)
        if path not in {"/messages", "/chat/completions"}:
            return 404, {"error": {"message": f"There is no {path}.", "type": "invalid_request_error"}}
        log_event(ASKED, model=str(fields.get("model", "")))
        make = _anthropic if is_anthropic else _openai
        return 200, make(str(fields.get("model", "")), stream=bool(fields.get("stream")))


def _facts(path: str) -> dict[str, Any]:
    if path.endswith("key"):
        return {"data": {"label": "trial", "usage": 0, "limit": None, "limit_remaining": None}}
    model = path.removeprefix("/models").strip("/")
    if model.endswith("/endpoints"):
        return {"data": {"id": model.removesuffix("/endpoints"), "endpoints": [{"name": "Trial"}]}}
    facts = {"id": model or "trial", "object": "model", "type": "model", "created": 1_700_000_000, "owned_by": "trial"}
    return facts if model else {"object": "list", "data": [facts], "has_more": False}


def _openai(model: str, *, stream: bool) -> Any:
    facts = {"id": "chatcmpl-trial", "created": int(time.time()), "model": model}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    message = {"role": "assistant", "content": REPLY}
    if not stream:
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**facts, "object": "chat.completion", "choices": [choice], "usage": usage}
    facts["object"] = "chat.completion.chunk"
    parts = [
        {**facts, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**facts, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
    ]
    return "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"


def _anthropic(model: str, *, stream: bool) -> Any:
    usage = {"input_tokens": 1, "output_tokens": 1}
    facts: dict[str, Any] = {"id": "msg_trial", "type": "message", "role": "assistant", "model": model, "usage": usage}
    facts |= {"stop_reason": None, "stop_sequence": None}
    if not stream:
        return {**facts, "content": [{"type": "text", "text": REPLY}], "stop_reason": "end_turn"}
    parts: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**facts, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": REPLY}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {part['type']}\ndata: {json.dumps(part)}\n\n" for part in parts)
