"""A gateway that has lost its counts learns what was spent, so that no budget is spent twice."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from projects.models import HourlyUsage, Plan, Project
from projects.rules.budget import LIMITS
from projects.services.gateway.spending import read_spent
from projects.services.limits.budgets import renew_all_entries
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.entries import entry_of
from tests.projects.gateway.spending import Clock

pytestmark = pytest.mark.django_db


def told(engine: MemoryEngine, project: Project) -> dict[str, int]:
    """Returns the tokens of each period, of all stores together."""
    found: dict[str, int] = {}
    for each in entry_of(engine, project)["spent"]:
        found[each["period"]] = found.get(each["period"], 0) + each["tokens"]
    return found


def stores(engine: MemoryEngine, project: Project) -> set[str]:
    return {each["store"] for each in entry_of(engine, project)["spent"]}


def test_after_losing_its_volume_the_gateway_gets_spending_with_the_entries(
    engine: MemoryEngine, gateway: MemoryGateway, limited: Project, use: Any
) -> None:
    use(limited, 300, output=100, money=7)
    gateway.lose_counts()
    gateway.entries.clear()
    gateway.versions.clear()
    look_after_gateway()
    assert told(engine, limited) == {"2026-11-15": 400, "2026-11": 400}
    assert {each["money"] for each in entry_of(engine, limited)["spent"]} == {7}


def test_after_losing_only_its_counts_the_gateway_gets_spending_in_the_same_round(
    engine: MemoryEngine, gateway: MemoryGateway, limited: Project, use: Any
) -> None:
    use(limited, 300)
    gateway.lose_counts()
    use(limited, 50)
    assert told(engine, limited) == {"2026-11-15": 350, "2026-11": 350}
    assert len(stores(engine, limited)) == 2
    version = gateway.versions[str(limited.pk)]
    look_after_gateway()
    assert gateway.versions[str(limited.pk)] == version


def test_each_store_gets_separate_spending_of_the_current_day_and_month(
    engine: MemoryEngine, gateway: MemoryGateway, limited: Project, use: Any, time: Clock
) -> None:
    for tokens in (100, 200, 300):
        use(limited, tokens)
        gateway.lose_counts()
    time.now += timedelta(days=1)
    use(limited, 50)
    assert told(engine, limited) == {"2026-11-16": 50, "2026-11": 650}
    time.now += timedelta(days=30)
    use(limited, 7)
    renew_all_entries()  # as with any other change
    look_after_gateway()
    assert told(engine, limited) == {"2026-12-16": 7, "2026-12": 7}


def test_projects_without_a_budget_are_not_summed(
    deploy: Callable[..., Project], use: Any, django_assert_num_queries: Any
) -> None:
    Plan.objects.update(**dict.fromkeys(LIMITS))
    use(deploy(), 10)
    project = Project.objects.select_related("plan").get()
    with django_assert_num_queries(0):
        assert read_spent([project]) == {}


def test_the_spending_of_all_projects_takes_one_query(
    limited: Project, use: Any, django_assert_num_queries: Any
) -> None:
    use(limited, 10)
    projects = list(Project.objects.select_related("plan"))
    with django_assert_num_queries(1):
        assert set(read_spent(projects)) == {limited.pk}
    HourlyUsage.objects.update(input=2**60)
    assert all(each.tokens < 2**53 for each in read_spent(projects)[limited.pk])
