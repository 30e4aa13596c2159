"""Whether a model may think before it answers, and not show what it thinks. Pure."""

import re
from typing import Any

from gateway.entries.entry import Kind
from gateway.providers.unseen import names_in
from gateway.rules.paths import Call

_WISHES = ("reasoning", "reasoning_effort", "thinking")
_NEVER = re.compile(
    r"(?:^|[/.])(?:chatgpt-4o|gpt-?(?:3|4(?!\d))|claude-(?:instant|v?[12](?!\d)|3(?!\d))|gemini-(?:1\.|2\.0|pro-vision)"
    r"|gemma(?:-?[1-3](?!\d)|-[27]b|$)|(?:meta-?|code)?llama|mistral|mixtral|ministral|codestral|pixtral|devstral|open-mi[sx]tral"
    r"|phi-?[1-4]|qwen-?(?:1|2(?!\d))|deepseek-(?:chat|coder)|grok-[12](?!\d)|command-r|nova-(?:micro|lite|pro)-v1"
    r"|text-|tts-|whisper|[^/]*non-reasoning)"
)
"""That do not think unless they are asked to, if at all. Of all others, also of those that nobody knows yet, a part of
what is paid for may never be shown."""
_THINKER = re.compile(r"think|(?<!non-)reason|(?<![a-z\d])r1(?!\d)|nemotron|qwq|magistral")
"""Of a kind that else does not."""
_ALWAYS = re.compile(
    r"(?:^|/)(?:o\d|gpt-5(?![.\d])|gpt-oss|gemini-(?:.*-)?pro|gemini-(?:[3-9]|\d\d)|grok-[4-9])|codex|gpt-.*-pro|@preset/"
    r"|^openrouter/|(?:^|/)(?:auto|router)(?:[:@]|$)|^(?!.*claude).*latest"
)
"""That think whatever is said, and names that stand for others which may be such."""
_AMOUNTS = ("max_tokens", "budget_tokens")


def may_think(document: dict[str, Any], call: Call = Call.CHAT, kind: Kind = Kind.COMPATIBLE) -> bool:
    """What the agent says of it counts only where a provider of this kind obeys it."""
    if any(_is_on(document.get(name)) for name in _WISHES):
        return True
    names = [name for each in names_in(document) if not _never_thinks(name := each.strip().lower())]
    if document.get("preset") is not None:
        names.append("@preset/")
    if not any(_is_off(name, document.get(name)) for name in _obeyed(call, kind)):
        return bool(names)
    return any(map(_ALWAYS.search, names))


def least_of(document: dict[str, Any]) -> int:
    """Tokens that the agent leaves the model to think with, where it says so: its answer must be longer than that, or
    the provider refuses the call (Anthropic, OpenRouter)."""
    told = [
        holder.get(name)
        for holder, name in ((document.get("thinking"), "budget_tokens"), (document.get("reasoning"), "max_tokens"))
        if isinstance(holder, dict)
    ]
    return max((each for each in told if isinstance(each, int) and not isinstance(each, bool)), default=0)


def _never_thinks(name: str) -> bool:
    return bool(_NEVER.search(name)) and not _THINKER.search(name)


def _obeyed(call: Call, kind: Kind) -> tuple[str, ...]:
    if call is Call.MESSAGES or kind is Kind.ANTHROPIC:
        return ("thinking",)
    if call is Call.RESPONSES:
        return ("reasoning",)
    return ("reasoning", "reasoning_effort") if kind is Kind.OPENROUTER else ("reasoning_effort",)


def _is_on(wish: object) -> bool:
    if not isinstance(wish, dict):
        return wish not in (None, False, "none")
    if wish.get("enabled") is True or any(wish.get(name) for name in _AMOUNTS):
        return True
    return wish.get("type") not in (None, "disabled") or wish.get("effort") not in (None, "none")


def _is_off(name: str, wish: object) -> bool:
    """Of what does not say that it is on."""
    if name == "reasoning_effort":
        return wish == "none"
    if not isinstance(wish, dict):
        return False
    if name == "thinking":
        return wish.get("type") == "disabled"
    return wish.get("effort") == "none" or wish.get("enabled") is False
