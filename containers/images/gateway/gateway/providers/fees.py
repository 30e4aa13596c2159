"""What a provider charges beside tokens: for searches, for programs that it runs, for pictures that a tool makes. Pure.

Nobody can say beforehand how much that will be. Most providers do not say it afterwards either, and none to an agent
that hangs up.
"""

import re
from typing import Any

from gateway.entries.entry import Entry
from gateway.providers.slices import Slices
from gateway.providers.unseen import SEARCHING, is_any
from gateway.rules.refusals import RefusedError, Why

_FREE_TOOLS = re.compile(
    r"function|custom|mcp|mcp_toolset|local_shell|apply_patch|computer_use_preview"
    r"|(?:bash|text_editor|computer|memory|web_fetch|tool_search_tool_regex|tool_search_tool_bm25)_\d{8}"
)
"""Types of tools that the agent runs itself, or that cost their tokens alone."""
_PAID = (
    "plugins", "preset", "web_search_options", "search_parameters", "enable_search",
)  # fmt: skip
"""Names by which a provider is told to search, or to take what it has kept under a name, tools among it: of OpenRouter,
OpenAI, xAI and Qwen."""
WORDS = (
    "This agent's budget is one of money, and what tools of the provider cost beside tokens cannot be counted. "
    "Ask without them."
)


def may_have_fees(document: dict[str, Any]) -> Slices[bool]:
    models = document.get("models")
    names = [document.get("model"), *(models if isinstance(models, list) else ())]
    return (
        any(document.get(name) is not None and document[name] is not False for name in _PAID)
        or isinstance(document.get("prompt"), dict)
        or any(isinstance(name, str) and SEARCHING.search(name) for name in names)
        or (yield from is_any(_is_paid, document.get("tools")))
    )


def _is_paid(tool: object) -> bool:
    if not isinstance(tool, dict) or tool.get("type") is None:
        return False
    return not (isinstance(tool["type"], str) and _FREE_TOOLS.fullmatch(tool["type"]))


def check_fees(entry: Entry) -> None:
    """Of a call that may have some. Raises RefusedError where money is bounded."""
    if entry.budget.is_of_money:
        raise RefusedError(Why.FORBIDDEN, WORDS)
