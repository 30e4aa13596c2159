"""The gateway's counts reach the hourly rows exactly once, even if they are read twice, with any names."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from accounts import clock
from containers.errors import EngineUnavailableError
from containers.gateway.protocol import GatewayClient
from projects.models import Gateway, HourlyUsage, Project, Spending
from projects.rules.periods import EPOCH, HOUR
from projects.watcher.gateway import usage
from projects.watcher.upkeep.retention import prune
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.counting import read, sums, this_hour

pytestmark = pytest.mark.django_db


def test_usage_is_stored_and_read_once(engine: MemoryEngine, project: Project, gateway: MemoryGateway) -> None:
    gateway.use(str(project.pk), model="gpt", requests=2, input=10, output=5, cached=3, money=7)
    gateway.use(str(project.pk), messages=4)
    assert read(engine) == 2
    assert read(engine) == 0
    assert sums() == {"messages": 4, "requests": 2, "input": 10, "output": 5, "cached": 3, "money": 7}
    row = HourlyUsage.objects.get(model="gpt")
    assert (row.project_id, row.owner_id) == (project.pk, project.owner_id)
    assert row.hour == EPOCH + this_hour() * HOUR


def test_a_later_total_replaces_an_earlier_one(engine: MemoryEngine, project: Project, gateway: MemoryGateway) -> None:
    for _ in range(3):
        gateway.use(str(project.pk), model="gpt", requests=1, input=10)
        read(engine)
    assert sums() == {"requests": 3, "input": 30}


def test_a_page_that_is_read_again_changes_nothing(
    engine: MemoryEngine, project: Project, gateway: MemoryGateway
) -> None:
    gateway.use(str(project.pk), model="gpt", requests=1, input=10)
    read(engine)
    Gateway.objects.update(seq=0)
    read(engine)
    assert sums() == {"requests": 1, "input": 10}


def test_a_new_store_starts_at_zero_and_is_added(
    engine: MemoryEngine, project: Project, gateway: MemoryGateway
) -> None:
    for _ in range(5):
        gateway.use(str(project.pk), model="gpt", requests=1)
    read(engine)
    gateway.lose_counts()
    gateway.use(str(project.pk), model="gpt", requests=2)
    read(engine)
    assert sums() == {"requests": 7}
    gateway.use(str(project.pk), model="gpt", requests=1)
    read(engine)
    assert sums() == {"requests": 8}


def test_many_pages_of_usage_are_read_in_one_round(
    engine: MemoryEngine, project: Project, gateway: MemoryGateway
) -> None:
    for number in range(2500):
        gateway.use(str(project.pk), model=f"m{number % 3}", hour=this_hour() - number // 3, input=1)
    assert read(engine) == 2500
    assert sums() == {"input": 2500}


def test_two_watchers_do_not_undo_each_other(engine: MemoryEngine, project: Project, gateway: MemoryGateway) -> None:
    """One has read a page and is slow; the other continues, and its totals stay."""
    gateway.use(str(project.pk), model="gpt", input=10)
    slow_cursor, _ = Gateway.objects.get_or_create(pk=Gateway.objects.get().pk)
    slow_page = GatewayClient(engine.gateway()).usage_since(0)
    gateway.use(str(project.pk), model="gpt", input=10)
    read(engine)
    assert usage._take_over(slow_cursor, slow_page) == 0
    assert sums() == {"input": 20}


def test_no_usage_is_lost_if_the_gateway_falls_silent(
    engine: MemoryEngine, project: Project, gateway: MemoryGateway
) -> None:
    gateway.use(str(project.pk), model="gpt", input=10)
    engine.lose("gateway")
    with pytest.raises(EngineUnavailableError):
        read(engine)
    assert sums() == {}
    read(engine)
    assert sums() == {"input": 10}


def test_usage_of_a_deleted_project_is_kept_and_still_read(
    engine: MemoryEngine, project: Project, gateway: MemoryGateway, api: Any
) -> None:
    gateway.use(str(project.pk), model="gpt", input=10)
    read(engine)
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    gateway.use(str(project.pk), model="gpt", input=1)
    read(engine)
    assert sums() == {"input": 11}
    assert not Spending.objects.exists()


def test_usage_without_a_project_is_left_out(engine: MemoryEngine, project: Project, gateway: MemoryGateway) -> None:
    for stranger in (str(uuid4()), "no-uuid", str(project.pk).upper(), ""):
        gateway.use(stranger, model="gpt", input=10)
    gateway.use(str(project.pk), model="gpt", hour=10**15, input=10)
    assert read(engine) == 0
    assert sums() == {}


def test_old_hours_go(engine: MemoryEngine, project: Project, gateway: MemoryGateway, settings: Any) -> None:
    settings.BERTH_USAGE_DAYS = 100
    for days in (1, 99, 101):
        gateway.use(str(project.pk), model="gpt", hour=this_hour() - 24 * days, input=days)
    read(engine)
    list(prune())
    assert sums() == {"input": 100}


def test_a_total_of_the_day_and_of_the_month_is_kept(
    engine: MemoryEngine, deploy: Callable[..., Project], gateway: MemoryGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = deploy(), deploy(telegramToken="555:another-bot")
    now = clock.now().replace(day=15, hour=12)
    monkeypatch.setattr(clock, "now", lambda: now)
    hour = this_hour()
    gateway.use(str(project.pk), model="gpt", hour=hour, requests=1, input=10, output=5, money=3)
    gateway.use(str(project.pk), hour=hour, messages=2)
    gateway.use(str(project.pk), model="gpt", hour=hour - 24, requests=1, input=100)
    gateway.use(str(project.pk), model="gpt", hour=hour - 24 * 20, requests=1, input=1000)
    gateway.use(str(other.pk), model="gpt", hour=hour, requests=1, input=7)
    read(engine)
    row = Spending.objects.get(pk=project.pk)
    assert (row.day_messages, row.day_requests, row.day_tokens, row.day_money) == (2, 1, 15, 3)
    assert (row.month_messages, row.month_requests, row.month_tokens, row.month_money) == (2, 2, 115, 3)
    assert Spending.objects.get(pk=other.pk).month_tokens == 7
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=1))
    gateway.use(str(project.pk), model="gpt", hour=hour + 24, requests=1, input=1)
    read(engine)
    row.refresh_from_db()
    assert (row.day_tokens, row.month_tokens) == (1, 116)
