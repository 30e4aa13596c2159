"""Detects fees beyond tokens: for searches, for programs that a provider runs, for images from a tool. Pure.

The amount is unknown beforehand. Most providers do not report it afterwards either, and none report it to an agent that
hangs up.
"""

import re
from collections.abc import Sequence
from typing import Any

from gateway.budgets.prices import has_price, highest_price
from gateway.entries.entry import Entry, Kind
from gateway.providers.hidden_input import (
    AGENT_TOOL_KEYS,
    OBJECTS_PER_SLICE,
    SEARCH_OPTIONS,
    SEARCHING_MODEL,
    is_on,
    models_in,
)
from gateway.providers.time_slices import Slices
from gateway.rules.refusals import RefusedError, Why

_FREE_TOOLS = re.compile(
    r"function|custom|namespace|tool_search|mcp|mcp_toolset|local_shell|apply_patch|computer|computer_use_preview"
    r"|(?:bash|text_editor|computer|memory|web_fetch|tool_search_tool_regex|tool_search_tool_bm25)_\d{8}"
)
"""Types of tools that the agent runs itself, or that cost only their tokens."""
_PAID_OPTIONS = ("preset", *SEARCH_OPTIONS)
"""Options that make the provider search, or use a stored configuration of OpenRouter, which may contain tools."""
FEES_REFUSED = (
    "This agent's budget limits money, and the fees for the provider's own tools cannot be counted. "
    "Send the request without them."
)
UNKNOWN_PRICE = "This agent's budget limits money, and this model has no price, so its cost cannot be counted."


def may_have_fees(document: dict[str, Any]) -> Slices[bool]:
    """Whether a provider may charge more than tokens for this call."""
    return (
        any(is_on(name, document.get(name)) for name in _PAID_OPTIONS)
        or bool(document.get("plugins"))
        or isinstance(document.get("prompt"), dict)
        or any(map(SEARCHING_MODEL.search, models_in(document)))
        or (yield from _has_paid_tool(document))
    )


def _has_paid_tool(document: dict[str, Any]) -> Slices[bool]:
    """Also looks for nested tools: in a `namespace`, or in an input item with results of the agent's `tool_search`."""
    left, items = list(_list(document.get("tools"))), _list(document.get("input"))
    for begin in range(0, len(items), OBJECTS_PER_SLICE):
        left += _nested_tools(items[begin : begin + OBJECTS_PER_SLICE])
        yield
    while left:
        taken = left[-OBJECTS_PER_SLICE:]
        del left[-OBJECTS_PER_SLICE:]
        if any(map(_is_paid, taken)):
            return True
        left += _nested_tools(taken)
        yield
    return False


def _nested_tools(holders: list[Any]) -> list[Any]:
    return [tool for holder in holders if isinstance(holder, dict) for tool in _list(holder.get("tools"))]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_paid(tool: object) -> bool:
    if not isinstance(tool, dict):
        return False
    kind = tool.get("type")
    if kind is None:
        return AGENT_TOOL_KEYS.isdisjoint(tool)
    return not (isinstance(kind, str) and _FREE_TOOLS.fullmatch(kind))


def check_fees(entry: Entry) -> None:
    """Refuses a call that may have fees. Raises RefusedError if the budget limits money."""
    if entry.budget.is_of_money:
        raise RefusedError(Why.FORBIDDEN, FEES_REFUSED)


def check_prices(entry: Entry, models: Sequence[str]) -> None:
    """Raises RefusedError if the budget limits money and the cost of a model is unknown.

    The cost is known if staff have set a price, or if the provider is OpenRouter, the only one that reports the cost of
    a call.
    """
    tells = entry.provider is not None and entry.provider.kind is Kind.OPENROUTER
    if entry.budget.is_of_money and not tells and not all(_has_price(entry, model) for model in models):
        raise RefusedError(Why.FORBIDDEN, UNKNOWN_PRICE)


def _has_price(entry: Entry, model: str) -> bool:
    return has_price(entry.prices, model) or highest_price(entry.prices, [model]) is not None
