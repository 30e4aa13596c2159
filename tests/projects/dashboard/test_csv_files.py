"""The files of a project's page are whole, are read in pieces, and calculate nothing in a spreadsheet."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import clock
from projects.dashboard.views import events as events_view
from projects.dashboard.views import usage as usage_view
from projects.models import Event, HourlyUsage, LongRequest, Project
from projects.services.reports.csv_files import write_line
from projects.services.reports.usage import MOST_LINES
from tests.projects.api.following import hang_up
from tests.projects.dashboard.pages import path_of, text_of

pytestmark = pytest.mark.django_db

FILES = ("/usage.csv", "/events.csv")


def read(answer: Any) -> list[dict[str, str]]:
    assert answer.status_code == 200
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode(), newline="")))
    hang_up(answer)
    return rows


def use(project: Project, *, hours: int, models: int) -> None:
    now = clock.now().replace(minute=0, second=0, microsecond=0)
    row: dict[str, Any] = {"project_id": project.pk, "owner_id": project.owner_id, "store": "one", "requests": 1}
    HourlyUsage.objects.bulk_create(
        HourlyUsage(**row, hour=now - timedelta(hours=ago), model=f"model-{number}", money=1_000_000)
        for ago in range(hours)
        for number in range(models)
    )


def add_events(project: Project, count: int) -> None:
    told = {"project_id": project.pk, "owner_id": project.owner_id, "actor": "a", "source": "s", "outcome": "done"}
    at = datetime(2026, 1, 1, tzinfo=UTC)  # several events at the same moment
    Event.objects.bulk_create(
        Event(**told, action="update", detail=str(number), at=at + timedelta(seconds=number // 3))
        for number in range(count)
    )


def test_the_usage_is_whole(dashboard: Client, project: Project) -> None:
    use(project, hours=480, models=22)
    rows = read(dashboard.get(path_of(project, "/usage.csv")))
    assert len(rows) == len({(row["at"], row["model"]) for row in rows}) == 10_560 > MOST_LINES
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    assert sum(float(row["money"]) for row in rows) == 10_560


def test_the_events_are_whole(dashboard: Client, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_view, "PIECE", 7)
    add_events(project, 100)
    rows = read(dashboard.get(path_of(project, "/events.csv"), {"event": "update"}))
    assert [row["detail"] for row in rows] == [str(number) for number in reversed(range(100))]
    assert len(read(dashboard.get(path_of(project, "/events.csv")))) == Event.objects.count()


def test_the_page_shows_the_newest_and_says_that_the_file_has_all(
    dashboard: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_view, "SHOWN_LINES", 7)
    use(project, hours=1, models=7)
    assert "These are the newest" not in text_of(dashboard.get(path_of(project, "/usage")))
    HourlyUsage.objects.all().delete()
    use(project, hours=49, models=6)  # two days at least
    answer = dashboard.get(path_of(project, "/usage"))
    assert "These are the newest 7 lines" in text_of(answer)
    days = [line.at for line in answer.context["lines"]]
    assert len(days) == 7
    assert days == sorted(days, reverse=True)


@pytest.mark.parametrize("below", FILES)
def test_a_piece_at_a_time_is_read(dashboard: Client, project: Project, below: str) -> None:
    use(project, hours=100, models=10)
    add_events(project, 2 * events_view.PIECE)
    with CaptureQueriesContext(connection) as asked:
        answer: Any = dashboard.get(path_of(project, below))
        assert next(answer.streaming_content)
        assert not any("projects_hourlyusage" in query["sql"] for query in asked)
        b"".join(answer.streaming_content)
    hang_up(answer)
    assert (
        len([query for query in asked if "hourlyusage" in query["sql"] or 'FROM "projects_event"' in query["sql"]]) > 2
    )
    assert not LongRequest.objects.exists()


@pytest.mark.parametrize("below", FILES)
def test_too_many_downloads_at_once_are_refused_in_words(dashboard: Client, project: Project, below: str) -> None:
    held = [dashboard.get(path_of(project, below)) for _ in range(5)]
    refused = dashboard.get(path_of(project, below), follow=True)
    assert "Too many requests that last" in text_of(refused)
    for answer in held:
        hang_up(answer)
    assert read(dashboard.get(path_of(project, below))) is not None


SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n", "a;", "a\t", "a\r\n", 'a";', "; ", "\u00a0"])
@pytest.mark.parametrize("sign", SIGNS)
def test_no_cell_calculates_anything(sign: str, before: str) -> None:
    """Neither as it is nor for a program that takes a semicolon or a tab for the separator."""
    line = write_line([f"{before}{sign}cmd|' /C calc'!A0", 1])
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(line, newline=""), delimiter=separator):
            assert not [cell for cell in row if cell.strip().startswith(SIGNS)], (separator, row)


@pytest.mark.parametrize("text", ["gpt", "a-b", "a = b", "x@example.com", "1.50", "", "caf\u00e9; tea", 'a "b", c'])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert next(csv.reader(io.StringIO(write_line([text, 1])))) == [text, "1"]
