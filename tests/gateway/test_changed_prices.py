"""Prices, budgets and the clock may change while calls are in flight: no budget of money is overspent by that."""

import random
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from gateway.budgets.changes import Reservation
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry, Price
from gateway.meters.usage import MILLION, Usage
from gateway.periods import Period, name_of
from gateway.rules.refusals import RefusedError

from tests.gateway.disk_faults import Service
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

MODELS = ("m", "n", "o")


@dataclass
class Call:
    entry: Entry
    """As it was when the call was let in, whose prices it is charged by."""
    brought: Entry
    """As the request knows it: possibly from before a change that was made while the request was read."""
    models: tuple[str, ...]
    reservation: Reservation


class History:
    """The provider charges by the prices with which a call began, for the model that has answered."""

    def __init__(self, ledger: Ledger, clock: Clock, seed: int) -> None:
        self.ledger, self.clock = ledger, clock
        self.chance = random.Random(seed)
        self.entry = Entry("p", budget=Budget(day_money=20_000, month_money=60_000), prices=self.prices())
        self.former = self.entry
        """The entry before the last change."""
        self.charged, self.charged_in_all = Counter[str](), 0
        self.most = {Period.DAY: 20_000, Period.MONTH: 60_000}
        self.calls: list[Call] = []
        self.extended = 0

    def prices(self) -> dict[str, Price]:
        return {
            model: Price(self.chance.choice([1, 5]) * MILLION, self.chance.choice([1, 4, 20]) * MILLION, 0)
            for model in MODELS
        }

    async def begin(self) -> None:
        models, entry = tuple(self.chance.sample(MODELS, self.chance.randrange(1, 4))), self.entry
        brought = self.chance.choice([entry, self.former])
        try:
            reservation = await self.ledger.reserve(
                brought, models[0], input_tokens=self.chance.randrange(50), min_output=1,
                max_output=self.chance.randrange(1, 400), fallbacks=models[1:],
            )  # fmt: skip
        except RefusedError:
            return
        self.calls.append(Call(entry, brought, models, reservation))

    async def write_more(self) -> None:
        if not self.calls:
            return
        call = self.chance.choice(self.calls)
        try:
            call.reservation = self.ledger.extend(
                call.reservation, call.brought, by=self.chance.choice([10, 256, 5000]), fallbacks=call.models[1:]
            )
        except RefusedError:
            return
        self.extended += 1

    async def end(self) -> None:
        if not self.calls:
            return
        call = self.calls.pop(self.chance.randrange(len(self.calls)))
        one, by = call.reservation, self.chance.choice([*call.models, call.models[0] + "-2026-11-30", ""])
        usage = Usage(one.input, self.chance.choice([one.output, one.output // 2]))
        self.ledger.settle(one, usage, entry=call.brought, fallbacks=call.models[1:], reported_model=by)
        names = [each for each in call.models if by.startswith(each)] or call.models[: len(call.models) if by else None]
        prices = [call.entry.prices[each] for each in names]
        money = usage.input * max(each.input for each in prices) + usage.output * max(each.output for each in prices)
        money //= MILLION
        for period in Period:
            self.charged[name_of(period, one.hour)] += money
        self.charged_in_all += money

    async def change_prices(self) -> None:
        self.change(replace(self.entry, prices=self.prices()))

    def change(self, entry: Entry) -> None:
        self.former, self.entry = self.entry, entry
        self.ledger.change("p", entry)

    async def change_budget(self) -> None:
        day, month = self.chance.choice([500, 5000, 20_000]), self.chance.choice([20_000, 60_000])
        self.change(replace(self.entry, budget=Budget(day_money=day, month_money=month)))

    async def set_clock(self) -> None:
        self.clock.now += timedelta(hours=self.chance.choice([1, 5, -5, 24, -24, 24 * 31, -24 * 31]))

    def check(self) -> None:
        for name, money in self.charged.items():
            period = Period.DAY if len(name) == 10 else Period.MONTH
            assert money <= self.most[period], f"{name} is overspent"


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sampled(10)
def test_no_change_in_mid_call_overspends(tmp_path: Path, seed: int) -> None:
    service, clock = Service(), Clock(2026, 11, 30, 22)

    async def test(ledger: Ledger) -> None:
        history = History(ledger, clock, seed)
        steps = [
            history.begin, history.begin, history.begin, history.end, history.end, history.write_more,
            history.write_more, history.change_prices, history.change_budget, history.set_clock,
        ]  # fmt: skip
        for _ in range(150):
            await history.chance.choice(steps)()
            history.check()
        while history.calls:
            await history.end()
            history.check()
        ledger.close()
        await ledger._disk.run(lambda _: None)
        await service.read(ledger)
        assert service.sum("p", "money") == history.charged_in_all

    run(tmp_path, clock, test)
