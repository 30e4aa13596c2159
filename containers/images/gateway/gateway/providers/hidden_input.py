"""Detects input that is not in the request itself, so that its length is unknown. It counts a flat number. Pure."""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from gateway.providers.time_slices import Slices

OBJECTS_PER_SLICE = 1000
"""Objects to look at before other tasks may run: a few milliseconds."""

_AGENTS_TOOLS = frozenset({"function", "custom"})
AGENT_TOOL_KEYS = frozenset({"name", "function", "input_schema"})
"""A tool without a type and without any of these keys is run by the provider (`googleSearch`)."""
_OPTIONS = (
    "previous_response_id", "conversation", "container", "context_management", "mcp_servers", "plugins", "preset",
    "chat_template", "mm_processor_kwargs", "vl_high_resolution_images",
)  # fmt: skip
"""Options that make a provider add input, or summarise a conversation that is too long (`context_management`). The last
three make a server use another template for the input, or read images at a larger size (vLLM, Qwen)."""
SEARCH_OPTIONS = ("web_search_options", "search_parameters", "enable_search")
"""Options of OpenAI, xAI and Qwen that make the provider search."""
SEARCHING_MODEL = re.compile(
    r":online\b|-search-(?:preview|api)(?![a-z])|@preset/|(?<![a-z])sonar(?![a-z])|(?<![\w-])compound(?![a-z])",
    re.IGNORECASE,
)
"""Matches names of models that search the internet and read the results (OpenRouter, OpenAI, Perplexity, Groq). A date
or a variant of OpenRouter (`:floor`) may follow. Also matches stored presets, whose content is unknown."""
_STORED = frozenset({"item_reference", "image_generation_call", "video_url", "input_video", "audio_url"})
"""Types of objects that the provider has stored, and of media without a limit: a URL may lead to hours of video."""
_FETCHED = re.compile(
    r"\s*(?:https?:|(?:data:[^,]{0,200},)?UEsDB|data:application/(?:vnd\.o|zip|x-zip|epub))", re.IGNORECASE
)
"""The start of file data that is a URL or compressed. Office documents are compressed, and can have any length."""
RELEVANT_KEYS = frozenset({"type", "cache_control", "file_id", "file_url", "file_data"})
"""An object without any of these keys does not affect the cost of its call."""


def is_one_of(value: object, known: frozenset[str]) -> bool:
    """Whether the value is one of these strings. Agents may send anything, including unhashable values."""
    return isinstance(value, str) and value in known


def refers_to_hidden_input(each: dict[str, Any]) -> bool:
    """Whether this object refers to data that the provider fetches, unpacks or has stored."""
    if "file_id" in each or "file_url" in each or (each.get("type") == "url" and "url" in each):
        return True
    if is_one_of(each.get("type"), _STORED) or _is_fetched_audio(each.get("input_audio")):
        return True
    data = each.get("file_data")
    return isinstance(data, str) and _FETCHED.match(data) is not None


def _is_fetched_audio(audio: object) -> bool:
    """Whether this is a URL, which Mistral accepts in place of the audio."""
    data = audio.get("data") if isinstance(audio, dict) else audio
    return (isinstance(audio, dict) and "url" in audio) or (isinstance(data, str) and _FETCHED.match(data) is not None)


def adds_hidden_input(document: dict[str, Any]) -> Slices[bool]:
    """Whether the options of the call make the provider add input."""
    return (
        any(document.get(name) for name in _OPTIONS)
        or any(is_on(name, document.get(name)) for name in SEARCH_OPTIONS)
        or isinstance(document.get("prompt"), dict)
        or any(map(SEARCHING_MODEL.search, models_in(document)))
        or (yield from any_item(_is_own_tool, document.get("tools")))
        or (yield from any_item(_is_kept, document.get("input")))
    )


def is_on(name: str, value: object) -> bool:
    """Whether an option has a value that switches it on."""
    if value is None or value is False:
        return False
    return not (name == "search_parameters" and isinstance(value, dict) and value.get("mode") == "off")  # at xAI


def models_in(document: dict[str, Any]) -> Iterator[str]:
    """Yields the names of the models that may answer."""
    lists = (others for name in ("models", "fallbacks") if isinstance(others := document.get(name), list))
    for each in (document.get("model"), *chain.from_iterable(lists)):
        name = each.get("model") if isinstance(each, dict) else each
        if isinstance(name, str):
            yield name


def any_item(test: Callable[[object], bool], values: object) -> Slices[bool]:
    """Whether the test is true for an item of the list."""
    if not isinstance(values, list):
        return False
    for begin in range(0, len(values), OBJECTS_PER_SLICE):
        if any(map(test, values[begin : begin + OBJECTS_PER_SLICE])):
            return True
        yield
    return False


def _is_kept(item: object) -> bool:
    """Whether the item is only the id of an item that the provider has stored. Its type is optional."""
    return isinstance(item, dict) and "id" in item and item.keys() <= {"id", "type"}


def _is_own_tool(tool: object) -> bool:
    """Whether the provider runs the tool itself, and adds its results to the input."""
    if not isinstance(tool, dict):
        return False
    kind = tool.get("type")
    return AGENT_TOOL_KEYS.isdisjoint(tool) if kind is None else not is_one_of(kind, _AGENTS_TOOLS)
