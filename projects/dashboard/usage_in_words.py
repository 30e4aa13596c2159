"""What an agent has used in the present day and month, beside its budget."""

from typing import Any

from projects.models import Project
from projects.models.snapshot import take_snapshot


def describe_usage(project: Project) -> dict[str, Any]:
    """The present day and month, and the budget of each in words."""
    snapshot = take_snapshot(project)
    usage, budget = snapshot.usage, snapshot.usage["budget"]
    periods = [
        ("Today", usage["today"], _in_words(budget["day_tokens"], budget["day_money"])),
        ("This month", usage["month"], _in_words(budget["month_tokens"], budget["month_money"])),
    ]
    return {"periods": periods, "budget_until": project.budget_until if snapshot.facts.has_reached_budget else None}


def _in_words(tokens: int | None, money: str | None) -> str:
    limits = [f"{tokens:,} tokens"] if tokens is not None else []
    limits += [f"{money} in money"] if money is not None else []
    return " and ".join(limits) or "no limit"
