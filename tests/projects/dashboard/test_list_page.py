"""The list of projects."""

from datetime import timedelta

from django.test import Client
from django.utils import timezone

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import text_of


def test_an_empty_list_invites_to_the_first_deploy(dashboard: Client) -> None:
    answer = dashboard.get("/")
    assert "Deploy your first agent" in text_of(answer)
    assert b'href="/projects/new"' in answer.content


def test_a_project_is_listed_with_bot_status_plan_and_day(dashboard: Client, project: Project) -> None:
    Project.objects.update(bot_username="harbour_bot")
    answer = dashboard.get("/")
    text = text_of(answer)
    assert b'href="https://t.me/harbour_bot"' in answer.content
    for shown in ("Harbour pilot", "@harbour_bot", "Running", "pro", f"{project.created_at:%b %Y}"):
        assert shown in text


def test_the_list_says_why_a_project_is_not_well(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    Project.objects.update(observed_at=None)
    engine.crash(project.container_name, exit_code=30)
    assert "The provider refused the API key." in text_of(dashboard.get("/"))


def test_a_silent_engine_makes_the_list_unknown_and_not_an_error(
    dashboard: Client, project: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    engine.unavailable = True
    answer = dashboard.get("/")
    assert answer.status_code == 200
    assert "Unknown" in text_of(answer)
