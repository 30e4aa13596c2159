"""Holds in memory what each project has spent and reserved in its day and month. The disk has the same."""

from collections import defaultdict
from dataclasses import dataclass

from gateway.budgets.recent_sizes import Size
from gateway.entries.entry import Entry, Price
from gateway.meters.usage import MILLION
from gateway.periods import Period, name_of

AT_END = 20
"""A budget counts as reached if less than a twentieth of it is left and a call does not fit into the rest."""
GROWTH = 5, 4
"""The factor by which a call may exceed recent calls and still count as similar, because conversations grow."""
KEPT_PERIODS = 6
"""Periods kept for each project, because calls that began before midnight are settled after it."""


@dataclass(slots=True)
class Total:
    tokens: int = 0
    money: int = 0
    reserved_tokens: int = 0
    reserved_money: int = 0


class Totals:
    def __init__(self) -> None:
        self.stores: list[str] = []
        """The ids of the usage file, once it is open. It gets another one each time that it is written again."""
        self._totals: defaultdict[str, dict[str, Total]] = defaultdict(dict)
        self._earlier: list[tuple[list[str], dict[tuple[str, str], tuple[int, int]]]] = []
        """What this process knows of stores that are lost, by project and period."""

    def begin_store(self) -> None:
        """What is spent from now on belongs to another store, whose id is not known yet."""
        known = dict[tuple[str, str], tuple[int, int]]()
        for project, totals in self._totals.items():
            for name, total in totals.items():
                known[project, name] = total.tokens, total.money
                total.tokens = total.money = 0
        self._earlier.append((self.stores[:], known))
        self.stores.clear()

    def undo_begin(self) -> None:
        """Undoes the last `begin_store`, because there is no other store after all."""
        former, known = self._earlier.pop()
        self.stores[:0] = former
        for (project, name), (tokens, money) in known.items():
            total = self._totals[project].setdefault(name, Total())
            total.tokens += tokens
            total.money += money

    def spend(self, project: str, hour: int, *, tokens: int, money: int) -> None:
        for period in Period:
            total = self.of(project, period, hour)
            total.tokens += tokens
            total.money += money

    def reserve(self, project: str, hour: int, *, tokens: int, money: int) -> None:
        """Reserves these amounts. Negative amounts release a reservation."""
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
            for old in names[:-KEPT_PERIODS]:
                total = of_project[old]
                if old != name and not (total.reserved_tokens or total.reserved_money):
                    del of_project[old]
        return of_project[name]

    def spent(self, entry: Entry, period: Period, hour: int) -> tuple[int, int]:
        """Returns the tokens and money that count against the budget.

        That is the usage in this store (or the usage that the service has read from it, if that is more), plus the
        usage in earlier stores.
        """
        own, name = self.of(entry.project, period, hour), name_of(period, hour)
        known = [(self.stores, (own.tokens, own.money))]
        known += [(stores, amounts.get((entry.project, name), (0, 0))) for stores, amounts in self._earlier]
        reported = [each for each in entry.spent if each.period == name]
        spent_tokens = spent_money = 0
        for stores, (tokens, money) in known:
            here = [each for each in reported if each.store in stores]
            reported = [each for each in reported if each.store not in stores]
            spent_tokens += max(tokens, sum(each.tokens for each in here))
            spent_money += max(money, sum(each.money for each in here))
        spent_tokens += sum(each.tokens for each in reported)
        return spent_tokens, spent_money + sum(each.money for each in reported)

    def has_room(self, entry: Entry, hour: int, *, tokens: int, money: int) -> bool:
        """Whether these amounts can be reserved on top of all existing reservations."""
        for period, (most_tokens, most_money) in _limits(entry).items():
            total, (spent_tokens, spent_money) = self.of(entry.project, period, hour), self.spent(entry, period, hour)
            if most_tokens is not None and spent_tokens + total.reserved_tokens + tokens > most_tokens:
                return False
            if most_money is not None and spent_money + total.reserved_money + money > most_money:
                return False
        return True

    def room(
        self, entry: Entry, hour: int, *, price: Price | None, input_tokens: int, with_reserved: bool
    ) -> dict[Period, int | None]:
        """Returns how many tokens the answer to such an input may have, by period. None means no limit."""
        room: dict[Period, int | None] = {}
        for period, limits in _limits(entry).items():
            total, (spent_tokens, spent_money) = self.of(entry.project, period, hour), self.spent(entry, period, hour)
            if with_reserved:
                spent_tokens, spent_money = spent_tokens + total.reserved_tokens, spent_money + total.reserved_money
            room[period] = _room(limits, (spent_tokens, spent_money), input_tokens, price)
        return room

    def is_nearly_spent(
        self, entry: Entry, period: Period, hour: int, *, price: Price | None, need: Size, recent: Size
    ) -> bool:
        """Whether hardly anything is left of the limits for a call at this price, or recent calls no longer fit."""
        (tokens, money), (more, than) = _limits(entry)[period], GROWTH
        limits = (tokens, None if price is None else money)
        return any(
            limit is not None
            and (spent * AT_END >= limit * (AT_END - 1) or (spent + needed > limit and needed * than <= most * more))
            for limit, spent, needed, most in zip(limits, self.spent(entry, period, hour), need, recent, strict=True)
        )

    def filled_by(self, entry: Entry, hour: int, *, price: Price | None, size: Size) -> Period | None:
        """Returns the period whose budget a call of this size uses up on its own, ignoring other reservations.

        Returns the month if both budgets are used up.
        """
        for period, (tokens, money) in reversed(_limits(entry).items()):
            limits = (tokens, None if price is None else money)
            taken = zip(limits, self.spent(entry, period, hour), size, strict=True)
            if any(limit is not None and spent + reserved >= limit for limit, spent, reserved in taken):
                return period
        return None

    def exceeds(self, entry: Entry, *, price: Price | None, input_tokens: int, min_output: int) -> Period | None:
        """Returns the period whose whole budget is too small for such a call, even if nothing was spent.

        Never returns a period with a limit of zero, because that budget counts as reached from the start.
        """
        for period, limits in _limits(entry).items():
            room = _room(limits, (0, 0), input_tokens, price)
            if room is not None and room < min_output and 0 not in limits:
                return period
        return None


def _limits(entry: Entry) -> dict[Period, tuple[int | None, int | None]]:
    budget = entry.budget
    return {
        Period.DAY: (budget.day_tokens, budget.day_money),
        Period.MONTH: (budget.month_tokens, budget.month_money),
    }


def _room(
    limits: tuple[int | None, int | None], taken: tuple[int, int], input_tokens: int, price: Price | None
) -> int | None:
    (tokens, money), (taken_tokens, taken_money), rooms = limits, taken, []
    if tokens is not None:
        rooms.append(tokens - taken_tokens - input_tokens)
    if money is not None and price is not None:
        rooms.append(_tokens_for(money - taken_money, input_tokens, price))
    return min(rooms, default=None)


def _tokens_for(money: int, input_tokens: int, price: Price) -> int:
    """Returns the tokens of an answer that this money buys after the input; -1 if it does not pay for the input."""
    left = money * MILLION - input_tokens * max(price.input, price.cached)
    if left < 0:
        return -1
    return left // price.output if price.output else 2**53
