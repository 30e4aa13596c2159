"""What of a call's input stands elsewhere, so that nobody here knows how long it is: it counts a flat number. Pure."""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from gateway.providers.slices import Slices

AT_A_TIME = 1000
"""Objects that are looked at before others have their turn: some milliseconds."""

_AGENTS_TOOLS = frozenset({"function", "custom"})
OF_AGENTS = frozenset({"name", "function", "input_schema"})
"""Without one of which a tool that has no type is the provider's (`googleSearch`)."""
_UNSEEN = (
    "previous_response_id", "conversation", "container", "context_management", "mcp_servers", "plugins", "preset",
    "web_search_options", "chat_template", "mm_processor_kwargs", "vl_high_resolution_images",
)  # fmt: skip
"""Names by which a provider adds something, or writes a talk anew that has become too long (`context_management`). The
last three have a server write the input by another template, or read pictures larger (vLLM, Qwen)."""
SEARCHING = re.compile(
    r":online\b|-search-(?:preview|api)(?![a-z])|@preset/|(?<![a-z])sonar(?![a-z])|(?<![\w-])compound(?![a-z])",
    re.IGNORECASE,
)
"""In names of models that search the internet, and read what they find (OpenRouter, OpenAI, Perplexity, Groq). A date
may follow, and how OpenRouter is to choose (`:floor`). Or the name is of what the account has kept, with whatever
is in it."""
_STORED = frozenset({"item_reference", "image_generation_call", "video_url", "input_video", "audio_url"})
"""Types of what the provider has kept, and of what has no bound of its own: an address may lead to hours of it."""
_FETCHED = re.compile(
    r"\s*(?:https?:|(?:data:[^,]{0,200},)?UEsDB|data:application/(?:vnd\.o|zip|x-zip|epub))", re.IGNORECASE
)
"""How the data of a file begins that is an address, or packed: office documents are, of any length."""
TELLING = frozenset({"type", "cache_control", "file_id", "file_url", "file_data"})
"""Names without one of which an object says nothing of what its call costs."""


def is_one_of(value: object, known: frozenset[str]) -> bool:
    """Agents may send anything, also what has no place in a set."""
    return isinstance(value, str) and value in known


def leads_elsewhere(each: dict[str, Any]) -> bool:
    """Whether this object stands for what the provider fetches, unpacks or has kept."""
    if "file_id" in each or "file_url" in each or (each.get("type") == "url" and "url" in each):
        return True
    if is_one_of(each.get("type"), _STORED):
        return True
    data = each.get("file_data")
    return isinstance(data, str) and _FETCHED.match(data) is not None


def adds_unseen(document: dict[str, Any]) -> Slices[bool]:
    """Whether the provider adds what stands elsewhere, by what the call says as a whole."""
    return (
        any(document.get(name) for name in _UNSEEN)
        or isinstance(document.get("prompt"), dict)
        or any(map(SEARCHING.search, names_in(document)))
        or (yield from is_any(_is_own_tool, document.get("tools")))
        or (yield from is_any(_is_kept, document.get("input")))
    )


def names_in(document: dict[str, Any]) -> Iterator[str]:
    """Of the models that may answer."""
    lists = (others for name in ("models", "fallbacks") if isinstance(others := document.get(name), list))
    for each in (document.get("model"), *chain.from_iterable(lists)):
        name = each.get("model") if isinstance(each, dict) else each
        if isinstance(name, str):
            yield name


def is_any(test: Callable[[object], bool], values: object) -> Slices[bool]:
    if not isinstance(values, list):
        return False
    for begin in range(0, len(values), AT_A_TIME):
        if any(map(test, values[begin : begin + AT_A_TIME])):
            return True
        yield
    return False


def _is_kept(item: object) -> bool:
    """Whether it only names what the provider has kept: its type need not be said."""
    return isinstance(item, dict) and "id" in item and item.keys() <= {"id", "type"}


def _is_own_tool(tool: object) -> bool:
    """Whether the provider runs it itself, and adds what it finds."""
    if not isinstance(tool, dict):
        return False
    kind = tool.get("type")
    return OF_AGENTS.isdisjoint(tool) if kind is None else not is_one_of(kind, _AGENTS_TOOLS)
