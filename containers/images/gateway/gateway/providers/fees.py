"""What a provider charges beside tokens: for searches, for programs that it runs, for pictures that a tool makes. Pure.

Nobody can say beforehand how much that will be. Most providers do not say it afterwards either, and none to an agent
that hangs up.
"""

import re
from collections.abc import Sequence
from typing import Any

from gateway.budgets.prices import FREE, highest_price
from gateway.entries.entry import Entry, Kind
from gateway.providers.slices import Slices
from gateway.providers.unseen import AT_A_TIME, OF_AGENTS, SEARCHING, names_in
from gateway.rules.refusals import RefusedError, Why

_FREE_TOOLS = re.compile(
    r"function|custom|namespace|tool_search|mcp|mcp_toolset|local_shell|apply_patch|computer|computer_use_preview"
    r"|(?:bash|text_editor|computer|memory|web_fetch|tool_search_tool_regex|tool_search_tool_bm25)_\d{8}"
)
"""Types of tools that the agent runs itself, or that cost their tokens alone."""
_PAID = ("preset", "web_search_options", "search_parameters", "enable_search")
"""Names by which a provider is told to search, or to take what it has kept under a name, tools among it: of OpenRouter,
OpenAI, xAI and Qwen."""
WORDS = (
    "This agent's budget is one of money, and what tools of the provider cost beside tokens cannot be counted. "
    "Ask without them."
)
UNKNOWN = "This agent's budget is one of money, and staff keep no price for this model, so that nobody can count it."


def may_have_fees(document: dict[str, Any]) -> Slices[bool]:
    return (
        any(_is_on(name, document.get(name)) for name in _PAID)
        or bool(document.get("plugins"))
        or isinstance(document.get("prompt"), dict)
        or any(map(SEARCHING.search, names_in(document)))
        or (yield from _has_paid_tool(document))
    )


def _is_on(name: str, value: object) -> bool:
    if value is None or value is False:
        return False
    return not (name == "search_parameters" and isinstance(value, dict) and value.get("mode") == "off")  # of xAI


def _has_paid_tool(document: dict[str, Any]) -> Slices[bool]:
    """Also within others: in a `namespace`, or in what a `tool_search` of the agent has found, an item of the input."""
    left, items = list(_list(document.get("tools"))), _list(document.get("input"))
    for begin in range(0, len(items), AT_A_TIME):
        left += _within(items[begin : begin + AT_A_TIME])
        yield
    while left:
        taken = left[-AT_A_TIME:]
        del left[-AT_A_TIME:]
        if any(map(_is_paid, taken)):
            return True
        left += _within(taken)
        yield
    return False


def _within(holders: list[Any]) -> list[Any]:
    return [tool for holder in holders if isinstance(holder, dict) for tool in _list(holder.get("tools"))]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_paid(tool: object) -> bool:
    if not isinstance(tool, dict):
        return False
    kind = tool.get("type")
    if kind is None:
        return OF_AGENTS.isdisjoint(tool)
    return not (isinstance(kind, str) and _FREE_TOOLS.fullmatch(kind))


def check_fees(entry: Entry) -> None:
    """Of a call that may have some. Raises RefusedError where money is bounded."""
    if entry.budget.is_of_money:
        raise RefusedError(Why.FORBIDDEN, WORDS)


def check_prices(entry: Entry, models: Sequence[str]) -> None:
    """Raises RefusedError where money is bounded and nobody says what one of them costs: staff keep no price for it,
    and of all providers OpenRouter alone tells what a call has cost."""
    tells = entry.provider is not None and entry.provider.kind is Kind.OPENROUTER
    if entry.budget.is_of_money and not tells and not all(_has_price(entry, model) for model in models):
        raise RefusedError(Why.FORBIDDEN, UNKNOWN)


def _has_price(entry: Entry, model: str) -> bool:
    return model.lower().endswith(FREE) or highest_price(entry.prices, [model]) is not None
