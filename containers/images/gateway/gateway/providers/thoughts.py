"""Whether a model may think before it answers, and not show what it thinks. Pure."""

import re
from typing import Any

from gateway.providers.unseen import names_in

_WISHES = ("reasoning", "reasoning_effort", "thinking")
_THINKERS = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)|gemini-(?:2\.5|[3-9])|grok-[4-9])", re.IGNORECASE)
"""That think also where nobody asks for it, and show a summary at the most. Those of others show it as it comes."""


def may_think(document: dict[str, Any]) -> bool:
    if wishes := [document[name] for name in _WISHES if name in document]:
        return not all(map(_is_off, wishes))
    return any(map(_THINKERS.search, names_in(document)))


def least_of(document: dict[str, Any]) -> int:
    """Tokens that the agent leaves the model to think with, where it says so: its answer must be longer than that, or
    the provider refuses the call (Anthropic, OpenRouter)."""
    told = [
        holder.get(name)
        for holder, name in ((document.get("thinking"), "budget_tokens"), (document.get("reasoning"), "max_tokens"))
        if isinstance(holder, dict)
    ]
    return max((each for each in told if isinstance(each, int) and not isinstance(each, bool)), default=0)


def _is_off(wish: object) -> bool:
    if isinstance(wish, dict):
        return wish.get("type") == "disabled" or wish.get("effort") == "none" or wish.get("enabled") is False
    return wish in (None, False, "none")
