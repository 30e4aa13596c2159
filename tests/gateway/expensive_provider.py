"""A provider that charges for each request the most that any known provider would charge.

It reads requests by its own rules and shares none with the gateway: each byte of text is a token, each image is the
largest possible one, every file at a URL is as long as a model can read, each option has the most expensive meaning
that any provider gives it, and each answer is as long as it may be.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

UNLIMITED = 10**12
WINDOW = 200_000
"""Tokens that a provider adds to the input: as many as a model can read."""
ADDING_OPTIONS = frozenset({
    "previous_response_id", "conversation", "container", "context_management", "mcp_servers", "plugins", "preset",
    "web_search_options", "search_parameters", "enable_search", "chat_template", "mm_processor_kwargs",
    "vl_high_resolution_images", "data_sources", "rag", "prompt_id", "search_options", "custom_rag_config",
})  # fmt: skip
"""Options that make some provider add input."""
UNBOUNDED_OPTIONS = frozenset({
    "additional_drop_params", "extra_body", "api_base", "model_list", "num_candidates", "num_return_sequences",
    "deferred", "background", "batch_models", "fastest_response", "num_retries", "hedged_requests",
})  # fmt: skip
"""Options that make some server ignore the limit of the answer, or answer more than once."""
SURCHARGES = {
    "service_tier": {"priority": 2, "Priority": 2}, "speed": {"fast": 6}, "inference_geo": {"us": 2},
    "cache_control_injection_points": {},
}  # fmt: skip
CHOICES = ("n", "best_of", "n_cmpl")
LENGTHS = {
    "chat/completions": ("max_completion_tokens", "max_tokens", "n_predict", "max_new_tokens"),
    "responses": ("max_output_tokens",),
    "messages": ("max_tokens",),
}
NOT_READ = {"max_completion_tokens", "max_tokens", "max_output_tokens", "usage", "stream_options", "provider", "model"}
"""Options that no model reads as input."""
PICTURES = {"image", "image_url", "input_image"}
PLAIN_TYPES = {
    "text", "input_text", "output_text", "refusal", "thinking", "redacted_thinking", "tool_use", "tool_result",
    "function_call", "function_call_output", "reasoning", "message", "summary_text",
}  # fmt: skip
LARGE_PICTURES = {"gpt-4o-mini": 48_169, "gpt-5.4": 10_000}
SECONDS_PER_BYTE, TOKENS_PER_SECOND = 1 / 750, 20
PAGE_BYTES, PAGE_TOKENS = 2000, 4600


@dataclass
class Charge:
    input: int = 0
    output: int = 0
    factor: float = 1.0
    """The factor by which options raise the price."""
    cache_factor: float = 1.0
    """The factor by which writes to a cache raise the price of the input."""

    @property
    def tokens(self) -> int:
        return self.input + self.output


def charge_for(path: str, sent: dict[str, Any]) -> Charge:
    charge = Charge(factor=_factor(sent), cache_factor=2.0 if '"cache_control"' in json.dumps(sent) else 1.0)
    names = [name for name in _models(sent) if name]
    window = (
        any(sent.get(name) for name in ADDING_OPTIONS)
        or any(map(_searches, names))
        or isinstance(sent.get("prompt"), dict)
    )
    tools = _list(sent.get("tools"))
    window = window or any(map(_is_of_provider, tools))
    charge.input += 804 if tools or sent.get("functions") else 0
    fetched, counted = 0, 0
    for part in _parts(sent):
        tokens, is_fetched, media = _read(part, names)
        fetched += is_fetched
        counted += tokens - media
    text = sum(_text(value) for name, value in sent.items() if name not in NOT_READ)
    charge.input += max(1, text + counted) + (WINDOW if window or fetched else 0)  # the answer's beginning is a token
    charge.output = _answer(path, sent)
    return charge


def _answer(path: str, sent: dict[str, Any]) -> int:
    if any(sent.get(name) for name in UNBOUNDED_OPTIONS):
        return UNLIMITED
    if path == "audio/speech":
        size, speed = len(str(sent.get("input")).encode(errors="replace")), _number(sent.get("speed"), 1.0)
        return round(2 * size / min(1.0, max(0.25, speed)))
    if path == "embeddings":
        return 0
    choices = max(1, *(int(_number(sent.get(name), 1)) for name in CHOICES))
    prompts = sent.get("prompt")
    if isinstance(prompts, list) and not all(isinstance(each, int) for each in prompts):
        choices *= max(1, len(prompts))
    given = [_number(sent[name], UNLIMITED) for name in LENGTHS[path] if sent.get(name) is not None]
    return choices * int(max(given, default=UNLIMITED))


def _number(value: object, otherwise: float) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # accepts anything like a number
    except (TypeError, ValueError, OverflowError):
        return otherwise


def _factor(sent: dict[str, Any]) -> float:
    factor = 1.0
    for name, values in SURCHARGES.items():
        given = sent.get(name)
        factor *= values.get(given, 1) if isinstance(given, str) else 1
    hosts = sent.get("provider")
    if isinstance(hosts, dict) and hosts.keys() & {"only", "order", "sort"}:
        factor *= 3
    return factor * (3 if any(name.endswith(":nitro") for name in _models(sent)) else 1)


def _models(sent: dict[str, Any]) -> list[str]:
    others = [*_list(sent.get("models")), *_list(sent.get("fallbacks"))]
    names = [each.get("model") if isinstance(each, dict) else each for each in others]
    return [str(name) for name in (*str(sent.get("model")).split(","), *names)]


def _searches(name: str) -> bool:
    return ":online" in name or "search-preview" in name or name.startswith("sonar") or "@preset/" in name


def _is_of_provider(tool: object) -> bool:
    if not isinstance(tool, dict):
        return False
    is_agents = tool.get("type") in (None, "function", "custom") and tool.keys() & {"name", "function", "input_schema"}
    return not is_agents


def _parts(sent: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the parts of messages, tool results and inputs, and of lists that only some servers read."""
    for holder in ("messages", "input"):
        for item in _dicts(sent.get(holder)):
            yield {name: value for name, value in item.items() if name not in ("content", "output", "images")}
            for name in ("content", "output", "images"):
                for part in _dicts(item.get(name)):
                    yield part
                    yield from _dicts(part.get("content"))


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in _list(value) if isinstance(each, dict)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _read(part: dict[str, Any], names: list[str]) -> tuple[int, bool, int]:
    """Returns the part's tokens, whether the provider fetches it, and the number of its bytes that are not text."""
    kind, data = part.get("type"), _encoded(part)
    if kind in PICTURES:
        return max([5000, *(LARGE_PICTURES.get(name.rpartition("/")[2], 0) for name in names)]), False, len(data)
    if kind == "input_audio" and data:
        return round(len(data) * 3 / 4 * SECONDS_PER_BYTE * TOKENS_PER_SECOND), False, len(data)
    if data.startswith(("JVBERi", "data:application/pdf;base64,JVBERi")):
        return min(WINDOW, PAGE_TOKENS * (1 + len(data) * 3 // 4 // PAGE_BYTES)), False, len(data)
    if data.startswith(("UEsDB", "http")) or "UEsDB" in data[:120]:
        return 0, True, 0
    has_address = any(isinstance(each, str) and each.startswith("http") for each in _values(part))
    is_stored = part.keys() <= {"id", "type"} and "id" in part
    is_spoken = "role" in part and isinstance(part.get("audio"), dict)
    is_unknown = has_address or ("role" not in part and not part.keys() <= {"text"} and bool(part))
    return 0, is_stored or is_spoken or (kind not in PLAIN_TYPES and is_unknown), 0


def _encoded(part: dict[str, Any]) -> str:
    source, url, sound, file = (part.get(name) for name in ("source", "image_url", "input_audio", "file"))
    address = url.get("url") if isinstance(url, dict) else url
    found = [
        source.get("data") if isinstance(source, dict) else None,
        address if isinstance(address, str) and address.startswith("data:") else None,
        sound.get("data") if isinstance(sound, dict) else None,
        file.get("file_data") if isinstance(file, dict) else None,
        part.get("file_data"),
    ]
    return next((each for each in found if isinstance(each, str)), "")


def _values(value: object) -> Iterator[object]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _values(each)
    else:
        yield value


def _text(value: object) -> int:
    """Returns the number of bytes that a model could read."""
    if isinstance(value, dict):
        return sum(len(name.encode(errors="replace")) + _text(each) for name, each in value.items())
    if isinstance(value, list):
        return sum(map(_text, value))
    return len(str(value).encode(errors="replace")) if value is not None else 0
