"""Usage that the service has read from a lost store still counts."""

from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.disk import Disk
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry, read_entry
from gateway.entries.fields import EntryError
from gateway.entries.spent import Spent
from gateway.periods import Period, name_of
from gateway.rules.refusals import RefusedError

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.conftest import new_agent
from tests.gateway.junk import spoil
from tests.gateway.process import Gateway
from tests.gateway.test_ledger import Clock, run, spend

pytestmark = pytest.mark.one_database

DAY, MONTH = "2026-11-22", "2026-11"


def room(folder: Path, *spent: Spent, own: int = 0, **budget: int) -> int:
    """Returns the tokens of an answer that a budget of a thousand still allows."""

    async def test(ledger: Ledger) -> int:
        named = [
            Spent(ledger._totals.stores[-1] if each.store == "own" else each.store, *_rest(each)) for each in spent
        ]
        entry = Entry("p", budget=Budget(**(budget or {"day_tokens": 1000})), spent=tuple(named))
        if own:
            await spend(ledger, own)
        try:
            return (await ledger.reserve(entry, "m", input_tokens=0, min_output=1, max_output=5000)).output
        except RefusedError:
            return 0

    found: int = run(folder, Clock(2026, 11, 22), test)
    return found


def _rest(spent: Spent) -> tuple[str, int, int]:
    return spent.period, spent.tokens, spent.money


def test_spending_reported_by_other_stores_is_added_to_this_store_s(tmp_path: Path) -> None:
    told = Spent("lost", DAY, 300, 0), Spent("older", DAY, 200, 0)
    assert room(tmp_path / "one", *told) == 500
    assert room(tmp_path / "two", *told, own=100) == 400
    assert room(tmp_path / "three", *told, own=501) == 0


def test_the_larger_of_two_figures_of_this_store_counts(tmp_path: Path) -> None:
    for own, told, left in ((100, 300, 700), (300, 100, 700), (0, 1000, 0)):
        assert room(tmp_path / f"{own}", Spent("own", DAY, told, 0), own=own) == left


def test_only_the_present_day_and_month_count(tmp_path: Path) -> None:
    told = Spent("lost", "2026-11-21", 900, 0), Spent("lost", "2026-10", 900, 0), Spent("lost", MONTH, 400, 0)
    assert room(tmp_path / "day", *told) == 1000
    assert room(tmp_path / "month", *told, month_tokens=1000) == 600


def test_a_torn_file_is_set_aside(tmp_path: Path) -> None:
    file = tmp_path / "usage.sqlite3"
    first = Disk(file)
    first.close()
    whole = file.read_bytes()
    for torn in (b"no database at all" * 100, whole[:100] + bytes([255]) * 5000 + whole[5100:]):
        file.write_bytes(torn)
        assert room(tmp_path, Spent("lost", DAY, 300, 0)) == 0, "It is not known what the entry leaves out."
        assert room(tmp_path, Spent("lost", DAY, 300, 0), Spent("own", DAY, 0, 0)) == 700
        assert (tmp_path / "usage.sqlite3.torn").read_bytes() == torn


def test_junk_is_an_entry_error_or_harmless() -> None:
    good = {"project": "p", "spent": [{"store": "a", "period": DAY, "tokens": 1, "money": 2}]}
    assert read_entry(good).spent == (Spent("a", DAY, 1, 2),)
    refused = 0
    for place, what, spoiled in spoil(good):
        try:
            read_entry(spoiled)
        except EntryError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{what} in {place}") from error
    assert refused > 100


def test_after_the_loss_of_the_store_the_budget_is_not_spent_twice(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    agent = new_agent(own_gateway.start(), telegram, provider)
    budget = {"month_tokens": 300}
    own_gateway.apply(agent.entry(budget=budget))
    provider.words = 100
    assert [agent.chat("a", max_tokens=100).status for _ in range(2)] == [200, 200]
    costs = agent.settled(2)
    page: dict[str, Any] = own_gateway.ask("usage", since=0)
    own_gateway.kill()
    for file in (own_gateway.folder / "state").glob("usage.sqlite3*"):
        file.unlink()
    own_gateway.start()
    assert agent.chat("a", max_tokens=100).status == 503
    assert own_gateway.ask("versions")["versions"][agent.project]["untold"]
    period = name_of(Period.MONTH, page["rows"][0]["hour"])
    spent = {"store": page["store"], "period": period, "tokens": costs["input"] + costs["output"], "money": 0}
    nothing = {"store": own_gateway.ask("usage", since=0)["store"], "period": period, "tokens": 0, "money": 0}
    own_gateway.apply(agent.entry(budget=budget, spent=[spent, nothing]))
    assert "untold" not in own_gateway.ask("versions")["versions"][agent.project]
    while agent.chat("a", max_tokens=100).status == 200:
        pass
    assert provider.sold() <= 300
