"""Decides whether a model may reason before it answers without showing it. Pure."""

import re
from typing import Any

from gateway.entries.entry import Kind
from gateway.providers.hidden_input import models_in
from gateway.rules.paths import Call

_OPTIONS = ("reasoning", "reasoning_effort", "thinking")
_WITHOUT_REASONING = re.compile(
    r"(?:^|[/.])(?:chatgpt-4o|gpt-?(?:3|4(?!\d))|claude-(?:instant|v?[12](?!\d)|3(?!\d))|gemini-(?:1\.|2\.0|pro-vision)"
    r"|gemma(?:-?[1-3](?!\d)|-[27]b|$)|(?:meta-?|code)?llama|mistral|mixtral|ministral|codestral|pixtral|devstral|open-mi[sx]tral"
    r"|phi-?[1-4]|qwen-?(?:1|2(?!\d))|deepseek-(?:chat|coder)|grok-[12](?!\d)|command-r|nova-(?:micro|lite|pro)-v1"
    r"|text-|tts-|whisper|[^/]*non-reasoning)"
)
"""Models that do not reason unless the request says so, if at all. All other models, including future ones, may charge
for output that they never show."""
_WITH_REASONING = re.compile(r"think|(?<!non-)reason|(?<![a-z\d])r1(?!\d)|nemotron|qwq|magistral")
"""Reasoning variants of the models above."""
_ALWAYS_REASONING = re.compile(
    r"(?:^|/)(?:o\d|gpt-5(?![.\d])|gpt-oss|gemini-(?:.*-)?pro|gemini-(?:[3-9]|\d\d)|grok-[4-9])|codex|gpt-.*-pro|@preset/"
    r"|^openrouter/|(?:^|/)(?:auto|router)(?:[:@]|$)|^(?!.*claude).*latest"
)
"""Models that reason no matter what the request says, and names that may stand for one of them."""
_AMOUNTS = ("max_tokens", "budget_tokens")


def may_reason(document: dict[str, Any], call: Call = Call.CHAT, kind: Kind = Kind.COMPATIBLE) -> bool:
    """Whether a model may reason. Options to turn reasoning off count only if this kind of provider obeys them."""
    if any(_is_on(document.get(name)) for name in _OPTIONS):
        return True
    names = [name for each in models_in(document) if not _never_reasons(name := each.strip().lower())]
    if document.get("preset") is not None:
        names.append("@preset/")
    if not any(_is_off(name, document.get(name)) for name in _obeyed_options(call, kind)):
        return bool(names)
    return any(map(_ALWAYS_REASONING.search, names))


def reasoning_budget(document: dict[str, Any]) -> int:
    """Returns the requested reasoning budget in tokens, or 0.

    Anthropic and OpenRouter refuse a call if the limit of its answer is not higher than that.
    """
    budgets = [
        holder.get(name)
        for holder, name in ((document.get("thinking"), "budget_tokens"), (document.get("reasoning"), "max_tokens"))
        if isinstance(holder, dict)
    ]
    return max((each for each in budgets if isinstance(each, int) and not isinstance(each, bool)), default=0)


def _never_reasons(name: str) -> bool:
    return bool(_WITHOUT_REASONING.search(name)) and not _WITH_REASONING.search(name)


def _obeyed_options(call: Call, kind: Kind) -> tuple[str, ...]:
    if call is Call.MESSAGES or kind is Kind.ANTHROPIC:
        return ("thinking",)
    if call is Call.RESPONSES:
        return ("reasoning",)
    return ("reasoning", "reasoning_effort") if kind is Kind.OPENROUTER else ("reasoning_effort",)


def _is_on(option: object) -> bool:
    if not isinstance(option, dict):
        return option not in (None, False, "none")
    if option.get("enabled") is True or any(option.get(name) for name in _AMOUNTS):
        return True
    return option.get("type") not in (None, "disabled") or option.get("effort") not in (None, "none")


def _is_off(name: str, option: object) -> bool:
    """Whether the option turns reasoning off, if it does not turn it on."""
    if name == "reasoning_effort":
        return option == "none"
    if not isinstance(option, dict):
        return False
    if name == "thinking":
        return option.get("type") == "disabled"
    return option.get("effort") == "none" or option.get("enabled") is False
