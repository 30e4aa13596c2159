"""What each project has spent and reserved in its day and its month. In memory; the disk has it too."""

from collections import defaultdict
from dataclasses import dataclass

from gateway.entries.entry import Budget, Price
from gateway.meters.usage import MILLION
from gateway.periods import Period, name_of

KEPT = 6
"""Periods of a project: calls that began before midnight are settled after it."""


@dataclass(slots=True)
class Total:
    tokens: int = 0
    money: int = 0
    reserved_tokens: int = 0
    reserved_money: int = 0


class Totals:
    def __init__(self) -> None:
        self._totals: defaultdict[str, dict[str, Total]] = defaultdict(dict)

    def spend(self, project: str, hour: int, *, tokens: int, money: int) -> None:
        for period in Period:
            total = self.of(project, period, hour)
            total.tokens += tokens
            total.money += money

    def reserve(self, project: str, hour: int, *, tokens: int, money: int) -> None:
        """Negative amounts give back what was reserved."""
        for period in Period:
            total = self.of(project, period, hour)
            total.reserved_tokens += tokens
            total.reserved_money += money

    def of(self, project: str, period: Period, hour: int) -> Total:
        of_project = self._totals[project]
        name = name_of(period, hour)
        if name not in of_project:
            of_project[name] = Total()
            names = sorted(each for each in of_project if len(each) == len(name))
            for old in names[:-KEPT]:
                total = of_project[old]
                if old != name and not (total.reserved_tokens or total.reserved_money):
                    del of_project[old]
        return of_project[name]

    def has_room(self, project: str, budget: Budget, hour: int, *, tokens: int, money: int) -> bool:
        """Whether so much could be reserved on top of all that is."""
        limits = {
            Period.DAY: (budget.day_tokens, budget.day_money),
            Period.MONTH: (budget.month_tokens, budget.month_money),
        }
        for period, (most_tokens, most_money) in limits.items():
            total = self.of(project, period, hour)
            if most_tokens is not None and total.tokens + total.reserved_tokens + tokens > most_tokens:
                return False
            if most_money is not None and total.money + total.reserved_money + money > most_money:
                return False
        return True

    def room(
        self, project: str, budget: Budget, hour: int, *, price: Price | None, given: int, with_reserved: bool
    ) -> dict[Period, int | None]:
        """How many tokens an answer to an input of `given` tokens may have. None: as many as it likes."""
        limits = {
            Period.DAY: (budget.day_tokens, budget.day_money),
            Period.MONTH: (budget.month_tokens, budget.month_money),
        }
        room: dict[Period, int | None] = {}
        for period, (tokens, money) in limits.items():
            total = self.of(project, period, hour)
            rooms = []
            if tokens is not None:
                rooms.append(tokens - total.tokens - with_reserved * total.reserved_tokens - given)
            if money is not None and price is not None:
                left = money - total.money - with_reserved * total.reserved_money
                rooms.append(_tokens_for(left, given, price))
            room[period] = min(rooms, default=None)
        return room


def _tokens_for(money: int, given: int, price: Price) -> int:
    """Tokens of an answer that this much money pays for, behind the input. -1 where it does not pay for the input."""
    left = money * MILLION - given * max(price.input, price.cached)
    if left < 0:
        return -1
    return left // price.output if price.output else 2**53
