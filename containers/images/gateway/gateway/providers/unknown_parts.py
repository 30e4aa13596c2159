"""Detects parts of a conversation whose type, and therefore length, is unknown. They count a flat number. Pure."""

from collections.abc import Iterator
from typing import Any

from gateway.providers.time_slices import Slices

PARTS_PER_SLICE = 1000

_UNTYPED_KEYS = frozenset({"text", "cache_control", "annotations"})
"""The keys that a part without a type, or an input of embeddings, may have."""
_PART_TYPES = frozenset({
    "audio_url", "bash_code_execution_tool_result", "code_execution_tool_result", "compaction", "computer_screenshot",
    "container_upload", "document", "file", "image", "image_url", "input_audio", "input_file", "input_image",
    "input_text", "input_video", "mcp_tool_result", "mcp_tool_use", "output_text", "reasoning", "reasoning_text",
    "redacted_thinking", "refusal", "search_result", "server_tool_use", "summary_text", "text",
    "text_editor_code_execution_tool_result", "thinking", "tool_call", "tool_reference", "tool_result",
    "tool_search_tool_result", "tool_use", "video_url", "web_fetch_result", "web_fetch_tool_result",
    "web_search_result", "web_search_tool_result",
})  # fmt: skip
"""The types of parts that are text, or whose tokens other modules bound."""
_ITEM_TYPES = frozenset({
    "apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction", "computer_call",
    "computer_call_output", "custom_tool_call", "custom_tool_call_output", "file_search_call", "function_call",
    "function_call_output", "image_generation_call", "item_reference", "local_shell_call", "local_shell_call_output",
    "mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools", "reasoning", "shell_call",
    "shell_call_output", "tool_search_call", "tool_search_output", "web_search_call",
}) | _PART_TYPES  # fmt: skip
"""The types of items, other than messages, in the input of a response. Inputs of embeddings are parts."""
_MESSAGE_KEYS = frozenset({
    "annotations", "cache_control", "content", "function_call", "id", "images", "name", "partial", "phase", "prefix",
    "reasoning", "reasoning_content", "reasoning_details", "refusal", "role", "status", "thinking", "tool_call_id",
    "tool_calls", "tool_name", "type",
})  # fmt: skip
"""The known keys of a message. Any other key may refer to data that the provider has stored (`audio` at OpenAI)."""


def has_unknown_parts(document: dict[str, Any]) -> Slices[bool]:
    """Whether a message or an input item is unknown or has an unknown part."""
    for number, is_unknown in enumerate(_scan(document), 1):
        if is_unknown:
            return True
        if number % PARTS_PER_SLICE == 0:
            yield
    return False


def _scan(document: dict[str, Any]) -> Iterator[bool]:
    for holder in ("messages", "input"):
        for item in _dicts(document.get(holder)):
            is_message = "role" in item or ("content" in item and item.get("type") is None)
            yield _is_unknown_message(item) if is_message else not _is_known(item, _ITEM_TYPES)
            yield from _scan_parts(item)


def _scan_parts(message: dict[str, Any]) -> Iterator[bool]:
    """Yields for each part of a message and of tool results whether it is unknown."""
    for part in (part for name in ("content", "output", "images") for part in _dicts(message.get(name))):
        yield not _is_known(part, _PART_TYPES)
        for inner in _dicts(part.get("content")):
            yield not _is_known(inner, _PART_TYPES)


def _is_unknown_message(message: dict[str, Any]) -> bool:
    images = message.get("images")
    is_plain = isinstance(images, list) and not all(isinstance(each, dict) for each in images)
    return is_plain or any(message[name] for name in message.keys() - _MESSAGE_KEYS)


def _is_known(part: dict[str, Any], known: frozenset[str]) -> bool:
    kind = part.get("type")
    return part.keys() <= _UNTYPED_KEYS if kind is None else isinstance(kind, str) and kind in known


def _dicts(value: object) -> list[dict[str, Any]]:
    """Returns the parts in a list. A single part need not be in a list."""
    if isinstance(value, dict):
        return [value]
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
