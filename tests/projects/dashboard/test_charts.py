"""The charts on the page of a project."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from projects.models import HourlyUsage, Project, Sample
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import path_of, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

NOW = datetime(2026, 1, 31, 12, 30, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _now(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.dashboard.content.charts.clock.now", lambda: NOW)


def add(project: Project, *ago: timedelta, minutes: int = 1, **counts: int) -> None:
    used = {"cpu": 1250, "memory": 48 << 20, "received": 6 * 1024 * 60, "sent": 60 * 1024, **counts}
    at = NOW.replace(second=0)
    Sample.objects.bulk_create([Sample(project_id=project.pk, at=at - each, minutes=minutes, **used) for each in ago])


@pytest.fixture
def charts(dashboard: Client, project: Project) -> Callable[..., Any]:
    return lambda span="1h": dashboard.get(path_of(project, "/charts"), {"span": span})


def paths(answer: Any) -> dict[str, list[str]]:
    """Returns the paths of each chart."""
    found = re.findall(r'<svg[^>]*aria-label="(\w+) [^"]*"[^>]*>(.*?)</svg>', answer.content.decode())
    return {title: re.findall(r' d="([^"]*)"', drawing) for title, drawing in found}


def minutes(*numbers: float) -> list[timedelta]:
    return [timedelta(minutes=number) for number in numbers]


def test_a_page_without_samples_says_so(dashboard: Client, project: Project) -> None:
    assert "Nothing was measured in this time." in text_of(dashboard.get(path_of(project)))


def test_on_a_swarm_the_page_promises_nothing_that_is_measured_nowhere(
    dashboard: Client, project: Project, settings: Any
) -> None:
    settings.BERTH_ENGINE = "swarm"
    settings.BERTH_GATEWAY = True
    assert "of its manager alone" not in text_of(dashboard.get(path_of(project)))
    settings.BERTH_GATEWAY = False
    text = text_of(dashboard.get(path_of(project)))
    assert "on the machine of its manager alone" in text
    assert "not measured yet" in text
    assert "every minute" not in text
    add(project, *minutes(2))
    assert "on the machine of its manager alone" in text_of(dashboard.get(path_of(project)))
    settings.BERTH_SWARM_VOLUME_DRIVER = "local"
    assert "not measured where a volume driver keeps it" in text_of(dashboard.get(path_of(project)))


def test_the_page_shows_usage_with_plan_limits_gaps_and_a_table_of_the_same_numbers(
    dashboard: Client, project: Project, charts: Any
) -> None:
    add(project, *minutes(2, 3, 5))
    page = dashboard.get(path_of(project))
    text = text_of(page)
    for shown in ("CPU", "12.5 %, at most 12.5 %", "48 MB, at most 48 MB", "limit of the plan, 1 GB", "Messages"):
        assert (shown in text) == (shown != "Messages"), shown
    assert "31 Jan 12:28 12.5 % 48 MB 6 KB/s 1 KB/s" in text
    assert text.count("12.5 % 48 MB") == 3
    drawn = paths(charts())
    assert paths(page) == drawn
    assert drawn["CPU"] == ["M56 37.5h0M58 37.5L59 37.5"]
    limit, memory = drawn["Memory"]
    assert limit.startswith("M0 0L1 0")
    assert memory.startswith("M56 95.3h0M58 95.3")
    assert len(drawn["Network"]) == 2
    assert "style=" not in page.content.decode()


def test_each_period_has_its_interval_and_samples(project: Project, charts: Any) -> None:
    add(project, *minutes(2, 62, 60 * 23))
    add(project, *minutes(60, 60 * 24 * 6, 60 * 24 * 7.5), minutes=15)
    rows = {span: charts(span).content.count(b'<tr><th scope="row">') for span in ("1h", "24h", "7d", "", "x")}
    assert rows == {"1h": 1, "24h": 3, "7d": 2, "": 1, "x": 1}
    assert b'data-span="7d" aria-current="true"' in charts("7d").content


def test_messages_and_tokens_are_drawn_if_the_gateway_counted_them(project: Project, charts: Any) -> None:
    row = {"project_id": project.pk, "owner_id": project.owner_id, "store": "s", "model": "gpt"}
    HourlyUsage.objects.create(**row, hour=NOW.replace(minute=0, second=0), messages=4, input=900, output=100)
    answer = charts()
    assert paths(answer)["Messages"] == ["M31 100V20H60V100z"]
    assert "31 Jan 12:00 4 1,000" in text_of(answer)


def test_a_day_is_small_costs_two_queries_and_asks_no_engine(
    dashboard: Client, project: Project, charts: Any, engine: MemoryEngine
) -> None:
    charts("24h")
    engine.calls.clear()
    with CaptureQueriesContext(connection) as none:
        charts("24h")
    add(project, *minutes(*range(1, 1440)))
    with CaptureQueriesContext(connection) as many:
        answer = charts("24h")
    assert len(many) == len(none)
    assert engine.calls == []
    assert len(answer.content) < 30_000
    # The part of a page that is requested every four seconds has no charts.
    assert b"<svg" not in dashboard.get(path_of(project, "/changes")).content


def test_nobody_sees_the_charts_of_another(bob: Any, project: Project) -> None:
    assert browser_of(bob).get(path_of(project, "/charts")).status_code == 404
    assert Client().get(path_of(project, "/charts")).status_code == 302
