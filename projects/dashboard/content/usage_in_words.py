"""An agent's usage and budget in words."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from projects.models import Project
from projects.models.rows.snapshot import take_snapshot
from projects.rules.budget import SpentFacts
from projects.services.reports.usage import UsageLine


class ShownLine(NamedTuple):
    at: datetime
    model: str
    calls: str
    tokens: str
    money: str
    messages: str


def describe_usage(project: Project) -> dict[str, Any]:
    """Describes the usage of the present day and month, and the budget of each."""
    snapshot = take_snapshot(project)
    usage, budget = snapshot.usage, snapshot.usage["budget"]
    periods = [
        ("Today", _describe(usage["today"]), _in_words(budget["day_tokens"], budget["day_money"])),
        ("This month", _describe(usage["month"]), _in_words(budget["month_tokens"], budget["month_money"])),
    ]
    return {"periods": periods, "budget_until": project.budget_until if snapshot.facts.has_reached_budget else None}


def _in_words(tokens: int | None, money: str | None) -> str:
    limits = [f"{tokens:,} tokens"] if tokens is not None else []
    limits += [f"{Decimal(money):,} in money"] if money is not None else []
    return " and ".join(limits) or "no limit"


def describe_lines(lines: Iterable[UsageLine]) -> list[ShownLine]:
    return [
        ShownLine(
            at=line.at,
            model=line.model or "no model",
            calls=_count(line.requests, "call")
            + (f", {line.errors:,} failed" if line.errors else "")
            + (f", {line.estimated:,} estimated" if line.estimated else ""),
            tokens=f"{line.input_tokens:,} tokens in ({line.cached_tokens:,} cached), {line.output_tokens:,} out",
            money=f"{Decimal(line.money):,} in money",
            messages=_count(line.messages, "message"),
        )
        for line in lines
    ]


def _describe(spent: SpentFacts) -> str:
    calls, messages = _count(spent["requests"], "call"), _count(spent["messages"], "message")
    money = Decimal(spent["money"])  # 0 if no model has a price
    parts = [_count(spent["tokens"], "token"), *([f"{money:,} in money"] if money else []), calls, messages]
    return ", ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
