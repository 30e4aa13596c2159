"""GET /api/projects/{id}/stats?since=."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.credentials import session_tokens
from projects.models import HourlyUsage, Project, Sample
from tests.fakes.engine import MemoryEngine

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

NOW = datetime(2026, 1, 31, 12, 30, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _now(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.clock.now", lambda: NOW)
    monkeypatch.setattr(session_tokens, "clock", SimpleNamespace(now=timezone.now))  # as in the library that reads them


def add(project: Project, *, ago: timedelta, minutes: int = 1) -> str:
    at = NOW.replace(second=0) - ago
    Sample.objects.create(project_id=project.pk, at=at, minutes=minutes, cpu=1234, memory=48 << 20, received=7, sent=3)
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def ask(api: APIClient, project: Project, since: str) -> Any:
    return api.get(f"/api/projects/{project.pk}/stats", {"since": since})


def test_samples_have_units_limits_and_gateway_counts_without_asking_the_engine(
    api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    first, second = add(project, ago=timedelta(minutes=3)), add(project, ago=timedelta(minutes=1))
    add(project, ago=timedelta(minutes=20))
    row = {"project_id": project.pk, "owner_id": project.owner_id, "hour": NOW.replace(minute=0, second=0)}
    HourlyUsage.objects.create(**row, model="", store="a", messages=4)
    HourlyUsage.objects.create(**row, model="gpt", store="a", input=100, output=20)
    engine.calls.clear()
    answer = ask(api, project, "5m")
    used = {"cpu_percent": 12.34, "memory": 48 << 20, "network_received": 7, "network_sent": 3}
    assert answer.json() == {
        "since": "2026-01-31T12:25:30Z",
        "until": "2026-01-31T12:30:30Z",
        "step": 60,
        "memory_limit": project.plan.memory,
        "samples": [{"at": first, **used}, {"at": second, **used}],
        "usage": [{"at": "2026-01-31T12:00:00Z", "messages": 4, "tokens": 120}],
    }
    assert engine.calls == []


@pytest.mark.parametrize(
    ("since", "step", "number"),
    [("24h", 60, 1), ("2026-01-30T12:30:30Z", 60, 1), ("25h", 900, 2), ("7d", 900, 2), ("1970-01-01", 900, 2),
     ("0s", 60, 0), ("2027-01-01", 60, 0), ("99999w", 900, 2)],
)  # fmt: skip
def test_a_longer_period_is_given_in_quarters_of_an_hour(
    api: APIClient, project: Project, since: str, step: int, number: int
) -> None:
    add(project, ago=timedelta(hours=2))
    for hours in (2, 24.5, 9 * 24):
        add(project, ago=timedelta(hours=hours), minutes=15)
    answer = ask(api, project, since).json()
    assert (answer["step"], len(answer["samples"])) == (step, number)
    assert answer["since"] >= "2026-01-23T12:30:30Z"


def test_an_invalid_time_is_refused_and_a_stranger_s_project_is_a_404(
    api: APIClient, bobs_api: APIClient, project: Project
) -> None:
    assert ask(api, project, "yesterday").json()["errors"][0]["field"] == "since"
    assert ask(bobs_api, project, "5m").status_code == 404


def test_a_day_of_minutes_costs_as_many_queries_as_one(api: APIClient, project: Project) -> None:
    add(project, ago=timedelta(minutes=1))
    ask(api, project, "24h")
    with CaptureQueriesContext(connection) as one:
        ask(api, project, "24h")
    for number in range(2, 200):
        add(project, ago=timedelta(minutes=number))
    with CaptureQueriesContext(connection) as many:
        assert len(ask(api, project, "24h").json()["samples"]) == 199
    assert len(many) == len(one)
