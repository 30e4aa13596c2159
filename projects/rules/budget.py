"""What a project may spend each day and month, and how much of that is spent. Pure rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypedDict

from projects.rules.periods import Period, end_of

MILLION = 1_000_000
"""Money is counted in millionths because one call costs less than a cent."""

MOST_TOKENS = 10**15
MOST_MONEY = Decimal("999999999.99")
"""In millionths this is still less than 2^53, the largest whole number that the gateway accepts."""

WARN_AT, REACHED = 80, 100
"""The percentages of a limit at which the owner is notified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits on input and output tokens together, and on money in the currency of the prices. None means no limit."""

    day_tokens: int | None = None
    month_tokens: int | None = None
    day_money: Decimal | None = None
    month_money: Decimal | None = None

    def tokens(self, period: Period) -> int | None:
        return self.day_tokens if period is Period.DAY else self.month_tokens

    def money(self, period: Period) -> Decimal | None:
        return self.day_money if period is Period.DAY else self.month_money


LIMITS = ("day_tokens", "month_tokens", "day_money", "month_money")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was used in one period. `money` is in millionths."""

    messages: int = 0
    requests: int = 0
    tokens: int = 0
    money: int = 0


class SpentFacts(TypedDict):
    """`Spent` in the API."""

    messages: int
    requests: int
    tokens: int
    money: str


class BudgetFacts(TypedDict):
    day_tokens: int | None
    month_tokens: int | None
    day_money: str | None
    month_money: str | None


class UsageFacts(TypedDict):
    """The short form of `usage` in the API."""

    today: SpentFacts
    month: SpentFacts
    budget: BudgetFacts


def ceiling_of(plan: Budget, granted: Budget) -> Budget:
    """Returns the highest limits that the owner may set: those that staff granted this project, else the plan's."""
    return Budget(**{name: _first(getattr(granted, name), getattr(plan, name)) for name in LIMITS})


def budget_in_force(own: Budget, ceiling: Budget) -> Budget:
    """Returns the owner's limits if they set some, capped by the ceiling."""
    return Budget(**{name: _least(getattr(own, name), getattr(ceiling, name)) for name in LIMITS})


def find_excess(own: Mapping[str, Any], ceiling: Budget) -> str | None:
    """Returns the name of a limit that is above the ceiling, or None if there is none."""
    for name in LIMITS:
        wanted, most = own.get(name), getattr(ceiling, name)
        if wanted is not None and most is not None and wanted > most:
            return name
    return None


def percent_spent(budget: Budget, period: Period, spent: Spent) -> int:
    """Returns the percentage of the limit that is closer to being reached, rounded down.

    Without limits it is 0. A limit of 0 counts as reached from the start.
    """
    money = budget.money(period)
    limits = ((spent.tokens, budget.tokens(period)), (spent.money, None if money is None else in_millionths(money)))
    return max((100 * used // limit if limit else REACHED for used, limit in limits if limit is not None), default=0)


def find_reset(budget: Budget, spent: Mapping[Period, Spent], now: datetime) -> datetime | None:
    """Returns when the spent budget is reset, or None if none is spent. A period without an entry is unused."""
    full = (period for period in Period if percent_spent(budget, period, spent.get(period, Spent())) >= REACHED)
    return max((end_of(period, now) for period in full), default=None)


def in_millionths(money: Decimal) -> int:
    return int(money * MILLION)


def describe_money(millionths: int) -> str:
    """Formats money as a decimal number with at least two places, such as `12.50` or `0.000123`."""
    whole, rest = divmod(millionths, MILLION)
    places = f"{rest:06}".rstrip("0").ljust(2, "0")
    return f"{whole}.{places}"


def describe_spent(spent: Spent) -> SpentFacts:
    return SpentFacts(
        messages=spent.messages, requests=spent.requests, tokens=spent.tokens, money=describe_money(spent.money)
    )


def describe_budget(budget: Budget) -> BudgetFacts:
    return BudgetFacts(
        day_tokens=budget.day_tokens,
        month_tokens=budget.month_tokens,
        day_money=_plain(budget.day_money),
        month_money=_plain(budget.month_money),
    )


def _plain(money: Decimal | None) -> str | None:
    return None if money is None else describe_money(in_millionths(money))


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one


def _least(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return _first(one, other)
    return min(one, other)
