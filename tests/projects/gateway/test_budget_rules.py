"""Which budget is in force, and how much of it is spent."""

from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from projects.rules.budget import (
    LIMITS,
    Budget,
    Spent,
    budget_in_force,
    ceiling_of,
    describe_money,
    find_excess,
    in_millionths,
    percent_spent,
)
from projects.rules.periods import EPOCH, Period, begin_of, end_of, hour_at, name_day
from projects.rules.status.sightings import is_refuted

pytestmark = pytest.mark.one_database
AMOUNTS = (None, 0, 5, 9)


def only(name: str, amount: Any) -> Budget:
    return Budget(**{name: amount})


@pytest.mark.parametrize("name", LIMITS)
def test_an_owner_may_set_less_and_staff_more(name: str) -> None:
    """Every combination of the limits of plan, staff and owner."""
    for plan, granted, own in product(AMOUNTS, repeat=3):
        ceiling = ceiling_of(only(name, plan), only(name, granted))
        most = plan if granted is None else granted
        assert getattr(ceiling, name) == most
        held = getattr(budget_in_force(only(name, own), ceiling), name)
        known = [each for each in (most, own) if each is not None]
        assert held == (min(known) if known else None)
        excess = find_excess({name: own}, ceiling)
        assert (excess == name) == (most is not None and own is not None and own > most)


@pytest.mark.parametrize(
    ("budget", "spent", "percent"),
    [
        ({}, {"tokens": 10**9, "money": 10**9}, 0),
        ({"day_tokens": 100}, {"tokens": 79}, 79),
        ({"day_tokens": 3}, {"tokens": 2}, 66),
        ({"day_tokens": 100}, {"tokens": 250}, 250),
        ({"day_tokens": 0}, {}, 100),
        ({"day_money": Decimal("0.00")}, {}, 100),
        ({"day_money": Decimal("2.50")}, {"money": 2_000_000}, 80),
        ({"day_tokens": 100, "day_money": Decimal(1)}, {"tokens": 10, "money": 900_000}, 90),
        ({"month_tokens": 1}, {"tokens": 10}, 0),
    ],
)
def test_the_limit_with_less_left_counts(budget: dict[str, Any], spent: dict[str, int], percent: int) -> None:
    assert percent_spent(Budget(**budget), Period.DAY, Spent(**spent)) == percent


@pytest.mark.parametrize(
    ("millionths", "shown"),
    [
        (0, "0.00"),
        (1, "0.000001"),
        (123, "0.000123"),
        (12_500_000, "12.50"),
        (1_000_000, "1.00"),
        (1_010_100, "1.0101"),
    ],
)
def test_money_is_a_decimal_number(millionths: int, shown: str) -> None:
    assert describe_money(millionths) == shown
    assert in_millionths(Decimal(shown)) == millionths


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "day_ends", "month_ends"),
    [
        ("2026-11-30T23:59:59", "2026-12-01", "2026-12-01"),
        ("2026-12-01T00:00:00", "2026-12-02", "2027-01-01"),
        ("2028-02-29T12:00:00", "2028-03-01", "2028-03-01"),
        ("2026-01-31T00:00:00", "2026-02-01", "2026-02-01"),
    ],
)
def test_days_and_months_end_in_utc(moment: str, day_ends: str, month_ends: str) -> None:
    assert end_of(Period.DAY, at(moment)) == at(day_ends)
    assert end_of(Period.MONTH, at(moment)) == at(month_ends)
    for period in Period:
        assert begin_of(period, end_of(period, at(moment))) == end_of(period, at(moment))


def test_hours_are_counted_from_1970_on() -> None:
    assert hour_at(0) == EPOCH
    assert hour_at(494_000) == at("2026-05-10T08:00:00")
    assert name_day(at("2026-12-01")) == "1 December"


@pytest.mark.parametrize(
    ("code", "well", "refuted"),
    [
        ("provider_key", "key", True),
        ("provider_key", "!key provider", False),
        ("provider_credit", "key", False),
        ("provider_credit", "key provider", True),
        ("provider_key", "telegram", False),
        ("provider_key", "", False),
        ("telegram_token", "telegram provider", True),
        ("telegram_conflict", "telegram", False),
        ("telegram_conflict", "telegram polling", True),
        ("polling", "telegram polling", False),
        ("provider_down", "telegram provider", False),
        ("telegram_unreachable", "telegram provider", False),
        ("provider_model", "telegram provider", False),
        ("", "telegram provider", False),
    ],
)
def test_an_agent_is_refuted_only_by_the_contrary(code: str, well: str, refuted: bool) -> None:
    assert is_refuted(code, well) is refuted
