"""GET /api/projects/{id}/usage, the usage in a project's answer, and the budget that an owner sets."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import clock
from accounts.credentials import session_tokens
from projects.models import HourlyUsage, Project, Spending
from projects.models.figures.usage import COUNTS
from projects.services.reports import usage as service

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
NO_BUDGET = {"day_tokens": None, "month_tokens": None, "day_money": None, "month_money": None}
NOTHING = {"messages": 0, "requests": 0, "tokens": 0, "money": "0.00"}


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.setattr(session_tokens, "clock", SimpleNamespace(now=timezone.now))  # as in the library that reads them


@pytest.fixture
def used(project: Project) -> Callable[..., None]:
    """Adds an hour of usage to Alice's project; `ago` is in hours."""

    def used(ago: int, model: str = "gpt", store: str = "one", **counts: int) -> None:
        hour = NOW.replace(minute=0) - timedelta(hours=ago)
        row = {"project_id": project.pk, "owner_id": project.owner_id, "hour": hour, "model": model, "store": store}
        HourlyUsage.objects.create(**row, **counts)

    return used


@pytest.fixture
def ask(api: APIClient, project: Project) -> Callable[..., Any]:
    return lambda query="": api.get(f"/api/projects/{project.pk}/usage{query}")


def test_nothing_was_used_yet(ask: Any) -> None:
    answer = ask()
    assert (answer.status_code, answer.json()) == (200, [])


def test_days_are_added_up_over_hours_and_stores(ask: Any, used: Any) -> None:
    used(0, input=10, output=5, requests=1)
    used(0, store="two", input=1, requests=1)
    used(12, input=100, requests=1)
    used(13, input=1000, requests=1)
    used(0, model="", messages=7)
    first, chat, calls = ask().json()
    assert (first["at"], first["model"], first["input_tokens"]) == ("2026-11-21T00:00:00Z", "gpt", 1000)
    assert (chat["at"], chat["model"], chat["messages"]) == ("2026-11-22T00:00:00Z", "", 7)
    assert calls == {
        "at": "2026-11-22T00:00:00Z",
        "model": "gpt",
        "messages": 0,
        "requests": 3,
        "errors": 0,
        "estimated": 0,
        "input_tokens": 111,
        "output_tokens": 5,
        "cached_tokens": 0,
        "money": "0.00",
    }


def test_usage_is_listed_by_hour(ask: Any, used: Any) -> None:
    for ago in (3, 1, 2):
        used(ago, requests=ago)
    lines = ask("?by=hour&since=2026-11-22T10:59:59Z&until=2026-11-22T12:00:00Z").json()
    assert [(line["at"], line["requests"]) for line in lines] == [
        ("2026-11-22T10:00:00Z", 2),
        ("2026-11-22T11:00:00Z", 1),
    ]


def test_a_day_is_complete_for_any_start_time(ask: Any, used: Any) -> None:
    used(12, requests=1)
    assert len(ask("?since=2026-11-22T23:00:00Z&until=2026-11-23T00:00:00Z").json()) == 1
    assert len(ask("?since=2026-11-23T00:30:00%2B02:00&until=2026-11-22T23:00:00Z").json()) == 1
    assert ask("?since=2026-11-23T00:00:00Z&until=2026-11-24T00:00:00Z").json() == []
    assert ask("?since=2026-11-24T00:00:00Z&until=2026-11-22T00:00:00Z").json() == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("by=week", "by"), ("by=", "by"), ("by=DAY", "by"), ("format=xml", "format"), ("since=yesterday", "since"),
        ("until=", "until"), ("since=2020-01-01T00:00:00Z", "since"), ("by=hour&since=2026-09-01T00:00:00Z", "since"),
        ("since=0001-01-01T00:00:00%2B12:00", "since"), ("until=9999-12-31T23:59:59-12:00", "until"),
        ("since=2026-13-01T00:00:00Z", "since"), ("until=0001-01-01T00:00:00Z", "until"),
        ("until=0001-01-20T00:00:00Z&by=hour", "until"),
    ],
)  # fmt: skip
def test_invalid_parameters_are_refused(ask: Any, query: str, field: str) -> None:
    answer = ask(f"?{query}")
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_the_csv_opens_in_a_spreadsheet_without_formulas(ask: Any, used: Any) -> None:
    for ago, model in enumerate(["gpt", "=cmd|' /C calc'!A0", "@cf/meta", 'a "b", c', "-1", "\u202ex"]):
        used(ago, model=model, input=ago, money=1_500_000)
    answer = ask("?format=csv&by=hour")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="usage-')
    names, *rows = csv.reader(io.StringIO(answer.content.decode()))
    assert names[:3] == ["at", "model", "messages"]
    assert {row[1] for row in rows} == {"gpt", "'=cmd|' /C calc'!A0", "'@cf/meta", 'a "b", c', "'-1", "\u202ex"}
    assert rows[-1] == ["2026-11-22T12:00:00Z", "gpt", "0", "0", "0", "0", "0", "0", "0", "1.50"]


@pytest.mark.parametrize("since", ["00:00:00", "09:00:00", "11:59:59.999", "12:00:00"])
@pytest.mark.parametrize("until", ["12:00:01", "12:30:00", "18:00:00", "23:59:59.999"])
@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_day_is_whole_however_little_of_it_is_asked_for(
    ask: Any, used: Any, since: str, until: str, kind: str
) -> None:
    """What a part of a day has used must not look like the usage of the day."""
    for ago in (13, 12, 6, 1, 0, -3, -11, -12):
        used(ago, requests=1, input=10)
    answer = ask(f"?by=day&format={kind}&since=2026-11-22T{since}Z&until=2026-11-22T{until}Z")
    if kind == "csv":
        [line] = csv.DictReader(io.StringIO(answer.content.decode()))
    else:
        [line] = answer.json()
    assert line["at"] == "2026-11-22T00:00:00Z"
    assert (int(line["requests"]), int(line["input_tokens"])) == (6, 60)


@pytest.mark.parametrize("until", ["2026-11-23T00:00:00Z", "2026-11-22T00:00:00.001Z", "9999-12-31T23:59:59Z"])
def test_days_add_up_to_their_hours(ask: Any, used: Any, until: str) -> None:
    for ago in range(-13, 40):
        used(ago, requests=1 + ago % 5, model=f"model {ago % 3}")
    span = f"since=2026-11-21T07:00:00Z&until={until}"
    if until.startswith("9999"):
        assert [error["field"] for error in ask(f"?{span}").json()["errors"]] == ["since"]
        span = f"since=9999-12-31T07:00:00Z&until={until}"
        assert ask(f"?by=day&{span}").json() == []
        return
    days = ask(f"?by=day&{span}").json()
    whole = "since=2026-11-21T00:00:00Z&until=2026-11-23T00:00:00Z"
    hours = ask(f"?by=hour&{whole}").json()
    assert {line["at"][:10] for line in days} == {"2026-11-21", "2026-11-22"}
    assert sum(line["requests"] for line in days) == sum(line["requests"] for line in hours)


def test_more_than_an_answer_holds_is_refused(ask: Any, used: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_LINES", 2)
    monkeypatch.setattr("projects.api.viewsets.usage.MOST_LINES", 2)
    used(1)
    used(2)
    assert len(ask("?by=hour").json()) == 2
    used(3)
    assert ask("?by=hour").status_code == 400


def test_other_users_see_no_usage(project: Project, bobs_api: APIClient, used: Any) -> None:
    used(0, requests=1)
    assert bobs_api.get(f"/api/projects/{project.pk}/usage").status_code == 404


def test_a_project_shows_its_usage_of_today_and_this_month(api: APIClient, project: Project) -> None:
    assert api.get(f"/api/projects/{project.pk}").json()["usage"]["today"] == NOTHING
    spent = {f"day_{name}": 2 for name in ("messages", "requests", "tokens", "money")}
    spent |= {f"month_{name}": 3_000_000 for name in ("messages", "requests", "tokens", "money")}
    Spending.objects.create(project=project, day=NOW.date(), month=NOW.date().replace(day=1), **spent)
    found = api.get(f"/api/projects/{project.pk}").json()["usage"]
    assert found["today"] == {"messages": 2, "requests": 2, "tokens": 2, "money": "0.000002"}
    assert found["month"] == {"messages": 3_000_000, "requests": 3_000_000, "tokens": 3_000_000, "money": "3.00"}
    Spending.objects.update(day=NOW.date() - timedelta(days=1), month=datetime(2026, 10, 1, tzinfo=UTC).date())
    found = api.get(f"/api/projects/{project.pk}").json()["usage"]
    assert (found["today"], found["month"]) == (NOTHING, NOTHING)


def test_every_count_of_the_gateway_is_shown() -> None:
    shown = {name.removesuffix("_tokens") for name in service.UsageLine.__slots__}
    assert set(COUNTS) <= shown
