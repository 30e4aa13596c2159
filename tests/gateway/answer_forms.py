"""Events of streams in forms that the gateway knows and does not know. Each has the same text."""

import json

from gateway.meters.anthropic import MessagesMeter
from gateway.meters.event_meter import EventMeter
from gateway.meters.openai import ChatMeter, ResponsesMeter

TEXT = "word " * 20
METERS: dict[str, type[EventMeter]] = {"chat": ChatMeter, "responses": ResponsesMeter, "messages": MessagesMeter}
PATHS = {"chat": "chat/completions", "responses": "responses", "messages": "messages"}


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


OF_CHAT = event({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": TEXT}}]})
OF_MESSAGES = event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}})
OF_RESPONSES = event({"type": "response.output_text.delta", "item_id": "i", "delta": TEXT})
ANY: dict[str, bytes] = {
    "message": event({"message": {"role": "assistant", "content": TEXT}, "done": False}),
    "token": event({"token": {"id": 1, "text": TEXT, "special": False}, "generated_text": None}),
    "content": event({"content": TEXT, "stop": False}),
    "list": event([{"choices": [{"index": 0, "delta": {"content": TEXT}}]}]),
    "text in JSON": event(TEXT),
    "text": b"data: " + TEXT.encode() + b"\n\n",
    "only JSON": event({"message": {"content": TEXT}})[6:],
    "half of JSON": b'data: {"text": "' + TEXT.encode() + b"\n\n",
}
"""Events that no path knows."""
FORMS: dict[str, dict[str, bytes]] = {
    "chat": {
        **ANY,
        "of messages": OF_MESSAGES,
        "of responses": OF_RESPONSES,
        "message in a choice": event({"choices": [{"index": 0, "message": {"content": TEXT}, "finish_reason": None}]}),
        "beside no delta": event({"choices": [{"index": 0, "delta": None, "message": {"content": TEXT}}]}),
        "beside an empty delta": event({"choices": [{"delta": {"role": "assistant"}, "message": {"content": TEXT}}]}),
        "choice that is a text": event({"choices": [TEXT]}),
        "choices that are an object": event({"choices": {"0": {"delta": {"content": TEXT}}}}),
    },
    "responses": {
        **ANY,
        "of chat": OF_CHAT,
        "of messages": OF_MESSAGES,
        "delta that is an object": event({"type": "response.output_text.delta", "delta": {"text": TEXT}}),
        "only whole parts": event({"type": "response.output_text.done", "item_id": "i", "text": TEXT}),
    },
    "messages": {
        **ANY,
        "of chat": OF_CHAT,
        "of responses": OF_RESPONSES,
        "delta that is a text": event({"type": "content_block_delta", "delta": TEXT}),
        "whole blocks": event({"type": "content_block", "content_block": {"type": "text", "text": TEXT}}),
        "whole message": event({"type": "message_start", "message": {"content": [{"type": "text", "text": TEXT}]}}),
    },
}
KNOWN: dict[str, dict[str, bytes]] = {
    "chat": {
        "delta": OF_CHAT,
        "invalid UTF-8": OF_CHAT.replace(b"word ", b"word \xff", 1),
        "text in a list": event({"choices": [{"delta": {"content": [{"type": "text", "text": TEXT}]}}]}),
        "function": event({"choices": [{"delta": {"function_call": {"arguments": TEXT}}}]}),
    },
    "responses": {"delta": OF_RESPONSES, "invalid UTF-8": OF_RESPONSES.replace(b"word ", b"word \xff", 1)},
    "messages": {
        "delta": OF_MESSAGES,
        "invalid UTF-8": OF_MESSAGES.replace(b"word ", b"word \xff", 1),
        "begun block": event({"type": "content_block_start", "content_block": {"type": "text", "text": TEXT}}),
    },
}

ENDS: dict[str, tuple[object, ...]] = {
    "chat": (
        {"choices": [{"delta": {"role": "assistant", "content": ""}}], "citations": [TEXT], "obfuscation": "a"},
        {"choices": [{"delta": {}, "finish_reason": "stop", "content_filter_results": {"a": "safe"}}]},
        {"object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}},
        {"id": "c", "object": "ping", "choices": []},
        {"choices": [{"delta": {}, "finish_reason": "stop", "logprobs": None}]},
    ),
    "responses": (
        {"type": "response.created", "response": {"instructions": TEXT}},
        {"type": "response.output_item.added", "item": {"type": "message", "status": "in_progress"}},
        {"type": "response.output_text.done", "item_id": "i", "text": TEXT},
        {"type": "response.content_part.done", "item_id": "i", "part": {"text": TEXT}},
        {"type": "response.output_item.done", "item": {"content": [{"text": TEXT}]}},
        {"type": "response.completed", "response": {"usage": {"input_tokens": 7, "output_tokens": 5}}},
        {"type": "keepalive", "sequence_number": 9},
    ),
    "messages": (
        {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 7}}},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}},
        {"type": "content_block_start", "content_block": {"type": "web_search_tool_result", "content": [TEXT]}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 7}},
        {"type": "ping"},
    ),
}  # fmt: skip
"""Events of known forms without output."""
