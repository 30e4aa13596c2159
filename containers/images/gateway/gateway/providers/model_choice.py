"""Finds the models that may answer a call or that its tools ask, and refuses those that the agent may not use. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from gateway.entries.entry import Entry
from gateway.providers.hidden_input import OBJECTS_PER_SLICE
from gateway.providers.parsed_call import read_model_name
from gateway.providers.spelling import check_spelling
from gateway.providers.time_slices import Slices
from gateway.rules.refusals import RefusedError, Why

REDIRECTING_OPTIONS = frozenset({
    "api_base", "api_key", "base_url", "content_policy_fallbacks", "context_window_fallback_dict",
    "context_window_fallbacks", "custom_llm_provider", "extra_body", "extra_headers", "extra_query", "headers",
    "model_list", "router_settings_override", "user_config",
})  # fmt: skip
"""Options by which a LiteLLM server would use another model, length, server or key than those that were checked."""
MAX_FALLBACKS = 100
"""The most models that may answer instead of the first one. OpenRouter accepts a few."""
PROVIDERS_CHOICE = "default"
"""The value of `fallbacks` by which Anthropic chooses the models itself."""
_NAMES_MODELS = re.compile(r"(?:models?|fallbacks?)(?:[_-]?(?:ids?|names?|slugs?|list|override))?\Z", re.IGNORECASE)
"""Matches members whose value names a model, such as `analysis_models` or `modelId`."""
_ONE, _SEVERAL = frozenset({"model"}), frozenset({"model", "analysis_models"})
_DEFAULT_MODELS = {
    "image_generation": _ONE,
    "openrouter:image_generation": _ONE,
    "openrouter:advisor": _ONE,
    "openrouter:subagent": _ONE,
    "openrouter:fusion": _SEVERAL,
    "fusion": _SEVERAL,
}
"""Tools and plugins that ask models of the provider's choice, and the members that name others instead."""
_DESCRIPTIONS = frozenset({
    "chat_template_kwargs", "documents", "format", "guided_json", "metadata", "properties", "response_format",
    "structural_tag", "tool_choice", "variables",
})  # fmt: skip
"""Members that contain schemas, labels or texts, in which any name may occur and none chooses a model."""
_USUAL = frozenset({
    "annotations", "cache_control", "content", "detail", "function", "id", "image_url", "name", "role", "source",
    "text", "tool_call_id", "tool_calls", "tool_use_id", "type", "url",
})  # fmt: skip
"""Members of most objects, which need no closer look."""
_HOLDERS = (dict, list)
_AGENT_TOOLS = ("function", "custom", "function_call")


def check_redirection(options: Mapping[str, Any], *, also: Set[str] = frozenset()) -> None:
    """Raises RefusedError for options by which a server would ignore what was checked, and those in `also`."""
    if found := (REDIRECTING_OPTIONS | also) & options.keys():
        raise RefusedError(Why.BAD, f"{min(found)} is no option of a request, and the gateway does not pass it on.")


def read_fallbacks(entry: Entry, document: dict[str, Any]) -> tuple[str, ...]:
    """Returns the models that may answer instead of the first one. Raises RefusedError for those that are not allowed.

    They are named by `models` and `preset` at OpenRouter, and by `fallbacks` at Anthropic and LiteLLM.
    """
    fallbacks, preset = document.get("fallbacks"), document.get("preset")
    if fallbacks == PROVIDERS_CHOICE:
        if entry.models is not None or entry.budget.is_of_money:
            raise RefusedError(Why.FORBIDDEN, "This agent must name its fallback models.")
        fallbacks = None
    found = (
        *_read_list(document.get("models"), "models"),
        *_read_list(fallbacks, "fallbacks"),
        *([] if preset is None else [f"@preset/{read_model_name(preset)}"]),  # a configuration in an account
    )
    for model in found:
        check_model(entry, model)
    return found


def _read_list(fallbacks: object, name: str) -> list[str]:
    if fallbacks is None:
        return []
    if not isinstance(fallbacks, list) or len(fallbacks) > MAX_FALLBACKS:
        raise RefusedError(Why.BAD, f"{name} must be a list of up to {MAX_FALLBACKS} names.")
    return [_read_name(each, name) for each in fallbacks]


def _read_name(fallback: object, name: str) -> str:
    """Returns the name of a model that may have options of its own."""
    if isinstance(fallback, dict):
        check_spelling(fallback)
        check_redirection(fallback)
        fallback = fallback.get("model")
    if not isinstance(fallback, str):
        raise RefusedError(Why.BAD, f"Each of the {name} must be a name, or an object with the name as its model.")
    return read_model_name(fallback)


def check_model(entry: Entry, model: str) -> None:
    """Raises RefusedError if the agent may not use this model."""
    if entry.models is not None and model not in entry.models:
        raise RefusedError(Why.NOT_FOUND, "This agent may not use this model.")


def check_all_models(entry: Entry, document: dict[str, Any]) -> Slices[None]:
    """Checks the models that tools, plugins and other options name. Raises RefusedError for those not allowed.

    Texts, schemas and the arguments of tools may contain any names.
    """
    inner: Iterable[Any]
    left: list[Any] = [document] if entry.models is not None else []
    seen = 0
    while left:
        taken = left[-OBJECTS_PER_SLICE:]
        del left[-OBJECTS_PER_SLICE:]
        for holder in taken:
            if isinstance(holder, dict):
                _check_holder(entry, holder)
                inner = holder.values() if holder.keys() <= _USUAL else _options(holder)
            else:
                inner = holder
            left += [each for each in inner if each and isinstance(each, _HOLDERS)]
        seen += len(taken)
        if seen >= OBJECTS_PER_SLICE:
            seen = 0
            yield


def _check_holder(entry: Entry, holder: dict[str, Any]) -> None:
    for name in holder.keys() - _USUAL:
        if _NAMES_MODELS.search(name):
            for model in _strings(holder[name]):
                check_model(entry, model)
    kind = holder.get("type", holder.get("id"))
    needed = _DEFAULT_MODELS.get(kind) if isinstance(kind, str) else None
    if needed is None:
        return
    options = holder.get("parameters")
    if needed - holder.keys() - (options.keys() if isinstance(options, dict) else set()):
        raise RefusedError(Why.NOT_FOUND, f"This agent must name the models that {kind} uses.")


def _strings(value: object) -> Iterator[str]:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return (each for each in values if isinstance(each, str))


def _options(holder: dict[str, Any]) -> list[Any]:
    return [value for name, value in holder.items() if not _is_description(holder, name)]


def _is_description(holder: dict[str, Any], name: str) -> bool:
    """Whether this member has a text, a schema or the arguments of a tool."""
    kind = holder.get("type")
    if name in ("parameters", "arguments"):  # those of a provider's own tool are its options
        return kind in _AGENT_TOOLS or (kind is None and "name" in holder)
    if name == "input":
        return isinstance(kind, str) and kind.endswith("tool_use")
    return name in _DESCRIPTIONS or name.lower().endswith("schema")
