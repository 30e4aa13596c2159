"""The admin's first page shows the state of the installation without asking the engine."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import clock
from accounts.models import User
from containers.engine.images import HostFacts
from projects.models import AgentType, EngineHost, Plan, Project, Sample
from projects.services.limits.capacity import learn_host_memory
from projects.services.staff.first_rows import MOST_SHOWN
from projects.services.staff.overview import read_overview
from projects.templatetags import overview
from tests.browser.project_pages import deploy_named
from tests.clients import browser_of
from tests.factories import UserFactory
from tests.fakes.engine import MemoryEngine

LIST = "/admin/projects/project/"


@pytest.fixture
def admin(sam: User) -> Client:
    return browser_of(sam)


@pytest.fixture
def fleet(alice: User, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[Project]:
    """One that runs, one whose token was refused, one that is stopped. The clock stands still after they were seen."""
    Plan.objects.filter(slug="pro").update(max_projects=100)
    made = [deploy_named(alice, f"Pilot {number}", number) for number in range(3)]
    Project.objects.filter(pk=made[1].pk).update(container_state="exited", exit_code=20, agent_code="telegram_token")
    Project.objects.filter(pk=made[2].pk).update(desired="stopped", container_state="exited", exit_code=0)
    now = timezone.now()
    Project.objects.update(observed_at=now, updated_at=now - timedelta(minutes=1))
    monkeypatch.setattr(clock, "now", lambda: now)
    return made


def page_of(client: Client, address: str = "/admin/") -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


@pytest.mark.django_db
def test_the_overview_shows_what_is_broken_and_why(admin: Client, fleet: list[Project], engine: MemoryEngine) -> None:
    page = page_of(admin)
    assert '<a href="/admin/projects/project/?status=crashed"><span class="status ended">Crashed</span> 1</a>' in page
    assert "Broken now: 1" in page
    assert f'/admin/projects/project/{fleet[1].pk}/change/">Pilot 1</a> of alice@example.com' in page
    assert "Telegram refused the bot token." in page
    assert "Last deploys" in page
    assert "Deployed, by alice@example.com" in page


@pytest.mark.django_db
def test_the_overview_does_not_ask_the_engine(admin: Client, fleet: list[Project], engine: MemoryEngine) -> None:
    engine.calls.clear()
    engine.unavailable = True
    Project.objects.update(observed_at=None)
    page_of(admin)
    assert engine.calls == []


@pytest.mark.django_db
def test_the_overview_needs_the_same_number_of_queries_for_many_projects(
    admin: Client, alice: User, fleet: list[Project], engine: MemoryEngine
) -> None:
    page_of(admin)  # queries that are made once
    counts = []
    for number in (10, 11, 12):
        deploy_named(alice, f"Pilot {number}", number)
        UserFactory.create()
        Project.objects.update(container_state="exited", exit_code=20, observed_at=timezone.now())
        with CaptureQueriesContext(connection) as asked:
            page_of(admin)
        counts.append(len(asked))
    assert len(set(counts)) == 1
    assert counts[0] < 40


@pytest.mark.django_db
def test_the_overview_shows_the_machine_and_users_without_a_second_factor(
    admin: Client, fleet: list[Project], engine: MemoryEngine, sam: User
) -> None:
    EngineHost.objects.all().delete()
    assert "version unknown" in page_of(admin)
    learn_host_memory()
    AgentType.objects.update(image_id="")
    at = timezone.now() - timedelta(minutes=1)
    for project in fleet[:2]:
        Sample.objects.create(at=at, project_id=project.pk, cpu=2500, memory=50 << 20, received=0, sent=0)
    page = page_of(admin)
    assert "29.1.0" in page
    assert "0.50 cores in use of 8" in page
    assert "100.0 MB in use of 1.0 TB" in page
    assert AgentType.objects.get(slug="assistant").image in page
    assert "<dt>Users without a second factor</dt>" in page
    assert ">2 of 2</a>" in page
    assert "?second_factor__isempty=1&amp;is_active__exact=1" in page
    assert f"staff: {sam.email}" in page


@pytest.mark.django_db
def test_the_overview_lists_unsupported_hardening_and_whether_it_is_accepted(
    admin: Client, engine: MemoryEngine, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = HostFacts(memory=1 << 30, lacks=("seccomp", "swap"))
    monkeypatch.setattr(engine, "describe_host", lambda: facts)
    EngineHost.objects.all().delete()
    settings.BERTH_SWARM_ACCEPT = ["swap"]
    learn_host_memory()
    page = page_of(admin)
    assert "<strong>seccomp</strong> (not accepted: no agent is started)" in page
    assert "<strong>swap</strong> (accepted): On a node that has swap" in page
    facts = HostFacts(memory=1 << 30)  # its nodes were updated
    EngineHost.objects.update(ask_again_at=timezone.now())
    learn_host_memory()
    assert "Agents are confined without" not in page_of(admin)


@pytest.mark.django_db
def test_an_agent_that_crashes_repeatedly_is_listed_although_it_runs(fleet: list[Project]) -> None:
    Project.objects.filter(pk=fleet[0].pk).update(crash_count=3, crashes_since=timezone.now())
    assert [each.project.pk for each in read_overview().looping] == [fleet[0].pk]
    Project.objects.filter(pk=fleet[0].pk).update(crashes_since=timezone.now() - timedelta(hours=1))
    assert read_overview().looping == []


@pytest.mark.django_db
def test_only_the_first_of_many_failing_projects_are_listed(fleet: list[Project], alice: User) -> None:
    rows = [Project.objects.get(pk=fleet[1].pk) for _ in range(MOST_SHOWN + 3)]
    for number, row in enumerate(rows):
        row.pk, row.bot_id, row.uid, row.address = None, number + 1, None, None
        row.id = uuid4()
    Project.objects.bulk_create(rows)
    now = read_overview()
    assert (len(now.broken), now.broken_number) == (MOST_SHOWN, MOST_SHOWN + 4)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("status=crashed", {1}),
        ("status=stopped", {2}),
        ("reason=telegram_token", {1}),
        ("status=running&reason=telegram_token", set()),
        ("q=%22Pilot+2%22", {2}),
        ("q=alice@example.com", {0, 1, 2}),
    ],
)
def test_the_list_is_narrowed_by_status_and_reason(
    admin: Client, fleet: list[Project], query: str, found: set[int]
) -> None:
    page = page_of(admin, f"{LIST}?{query}")
    assert {number for number, project in enumerate(fleet) if f"/{project.pk}/change/" in page} == found


@pytest.mark.django_db
def test_a_project_without_a_reason_is_not_found_by_one(admin: Client, fleet: list[Project]) -> None:
    Project.objects.filter(pk=fleet[1].pk).update(container_state="running", exit_code=None, agent_code="")
    page = page_of(admin, f"{LIST}?reason=telegram_token")
    assert [project for project in fleet if f"/{project.pk}/change/" in page] == []


@pytest.mark.django_db
@pytest.mark.parametrize("app", ["accounts", "projects"])
def test_pages_of_one_model_do_not_compute_the_overview(
    admin: Client, monkeypatch: pytest.MonkeyPatch, app: str
) -> None:
    monkeypatch.setattr(overview, "read_overview", lambda: pytest.fail("It is read."))
    assert "Last deploys" not in page_of(admin, f"/admin/{app}/")


@pytest.mark.django_db
def test_the_list_shows_the_reason_and_when_it_was_observed(admin: Client, fleet: list[Project]) -> None:
    page = page_of(admin, LIST)
    assert '<span class="status ended">Crashed</span>' in page
    assert "Telegram refused the bot token." in page


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["plan", "agenttype"])
def test_the_catalogue_shows_how_many_projects_use_a_row(admin: Client, fleet: list[Project], path: str) -> None:
    assert "3 projects" in page_of(admin, f"/admin/projects/{path}/")
    Project.objects.filter(pk=fleet[0].pk).update(desired="deleted")
    assert "2 projects" in page_of(admin, f"/admin/projects/{path}/")
