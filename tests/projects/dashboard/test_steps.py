"""The progress of a first deploy, as the pages show it."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from containers.vocabulary import Health
from projects.models import IdempotencyRecord, Project
from projects.rules.status.statuses import Status
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import Fields, path_of, text_of

HTMX = {"HX-Request": "true"}


def states(answer: Any) -> list[str]:
    return [step.state.value for step in answer.context["steps"].steps]


def test_the_steps_follow_the_row(
    dashboard: Client, fields: Fields, engine: MemoryEngine, bob: User, settings: Any
) -> None:
    form = f"/projects/new/steps?form={fields['id']}"
    assert states(dashboard.get(form)) == ["under way", "not yet", "not yet", "not yet"]
    engine.ready_after_deploy = False
    dashboard.post("/projects/new", fields)
    project = Project.objects.get()
    row = Project.objects.filter(pk=project.pk)
    steps = path_of(project, "/steps")
    assert (
        states(dashboard.get(form))
        == states(dashboard.get(steps, headers=HTMX))
        == ["done", "done", "done", "under way"]
    )
    assert "Open in Telegram" not in text_of(dashboard.get(steps, headers=HTMX))
    row.update(operation="deploy", operation_id=project.pk, operation_deadline=timezone.now() + timedelta(minutes=1))
    assert states(dashboard.get(form)) == ["done", "under way", "not yet", "not yet"]
    row.update(operation="", operation_id=None, operation_deadline=None, observed_at=None)
    engine.set_health(project.container_name, Health.HEALTHY)
    assert states(dashboard.get(steps, headers=HTMX)) == ["done"] * 4
    engine.crash(project.container_name, exit_code=20)
    row.update(observed_at=None)
    assert states(dashboard.get(steps, headers=HTMX)) == ["done", "done", "done", "broken"]
    assert "hx-get" not in dashboard.get(steps, headers=HTMX).content.decode()

    stranger = Client()
    stranger.force_login(bob)
    assert states(stranger.get(form)) == ["under way", "not yet", "not yet", "not yet"]
    assert stranger.get(steps, headers=HTMX).status_code == 404


def test_the_steps_have_times_and_end_with_the_link_to_telegram(dashboard: Client, project: Project) -> None:
    sent, started = timezone.now() - timedelta(seconds=9), timezone.now() - timedelta(seconds=6)
    row = Project.objects.filter(pk=project.pk)
    row.update(created_at=sent + timedelta(seconds=1), started_at=started)
    row.update(first_polled_at=started + timedelta(seconds=2), polled_at=started + timedelta(minutes=2))
    row.update(bot_username="harbour_pilot_bot")
    IdempotencyRecord.objects.create(
        owner=project.owner, key="page x", digest="x", project_id=project.pk, created_at=sent
    )
    page = dashboard.get(path_of(project))
    took = [step.took for step in page.context["steps"].steps]
    assert took == ["1.0 s", "2.0 s", "", "2.0 s"]
    assert text_of(page).count("Open in Telegram") == 1
    picture = dashboard.get(path_of(project, "/telegram.svg"))
    assert picture["Content-Type"] == "image/svg+xml"
    assert b"<svg" in picture.content
    assert not re.search(rb"style|script", picture.content)
    row.update(bot_username="")
    assert dashboard.get(path_of(project, "/telegram.svg")).status_code == 404
    row.update(created_at=timezone.now() - timedelta(hours=1))
    assert dashboard.get(path_of(project)).context["steps"] is None


def test_the_steps_continue_until_the_gateway_reports_the_first_poll(dashboard: Client, project: Project) -> None:
    steps, row = path_of(project, "/steps"), Project.objects.filter(pk=project.pk)
    for polled_at, address, goes_on in (
        (None, "10.0.0.5", True),
        (timezone.now(), "10.0.0.5", False),
        (None, None, False),
    ):
        row.update(first_polled_at=polled_at, address=address, virtual_token_ciphertext="", virtual_key_ciphertext="")
        answer = dashboard.get(steps, headers=HTMX)
        assert states(answer) == ["done"] * 4
        assert ("hx-get" in answer.content.decode()) == goes_on


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"health": "healthy"}, "Polling Telegram done as it reports itself"),
        ({"health": "none", "agent_state": "running"}, "Polling Telegram done as it reports itself"),
        ({"health": "none", "agent_state": ""}, "Running done nothing tells whether it polls Telegram"),
        ({"health": "unhealthy"}, "Running done nothing tells whether it polls Telegram"),
        ({"health": "healthy", "address": "10.0.0.5"}, "Polling Telegram done"),
    ],
)
def test_without_the_gateway_the_last_step_names_its_source(
    dashboard: Client, project: Project, row: dict[str, Any], told: str
) -> None:
    without = {"virtual_token_ciphertext": "", "virtual_key_ciphertext": "", "address": None, "first_polled_at": None}
    times = {"started_at": timezone.now() - timedelta(minutes=1), "observed_at": timezone.now()}
    Project.objects.filter(pk=project.pk).update(**without | {"is_behind_gateway": False} | times | row)
    steps = dashboard.get(path_of(project, "/steps"), headers=HTMX)
    assert states(steps) == ["done"] * 4
    assert text_of(steps).partition(" Open it here")[0].endswith(told)


def test_an_unknown_request_has_no_steps(dashboard: Client) -> None:
    assert dashboard.get(f"/projects/{uuid.uuid4()}/steps", headers=HTMX).status_code == 404


def test_the_steps_are_no_page_and_never_become_the_sign_in_page(
    dashboard: Client, fields: Fields, engine: MemoryEngine
) -> None:
    engine.ready_after_deploy = False
    dashboard.post("/projects/new", fields)
    path = path_of(Project.objects.get())
    assert dashboard.get(f"{path}/steps").headers["Location"] == path
    page = dashboard.get(path).content.decode()
    assert page.index("htmx-2") < page.index("berth/elsewhere")
    sign_in = Client().get(f"{path}/steps", headers=HTMX, follow=True).content.decode()
    assert '<form method="post" action="/sign-in">' in sign_in


def test_a_degraded_agent_is_ready_and_its_link_is_shown(dashboard: Client, project: Project) -> None:
    row = Project.objects.filter(pk=project.pk)
    row.update(bot_username="harbour_pilot_bot", agent_state="degraded", agent_code="provider_unreachable")
    row.update(health="starting", observed_at=timezone.now(), operation="", first_polled_at=timezone.now())
    page = dashboard.get(path_of(project))
    assert page.context["snapshot"].status == Status.DEGRADED
    assert page.context["steps"].is_done
    assert text_of(page).count("Open in Telegram") == 1
    assert "every 2s" not in page.content.decode()


@pytest.mark.parametrize("changed", [{"generation": 2}, {"created_at": timezone.now() - timedelta(hours=1)}])
def test_only_new_projects_poll_for_steps(
    dashboard: Client, fields: Fields, engine: MemoryEngine, changed: dict[str, Any]
) -> None:
    engine.ready_after_deploy = False
    dashboard.post("/projects/new", fields)
    project = Project.objects.get()
    steps = path_of(project, "/steps")
    assert "hx-get" in dashboard.get(steps, headers=HTMX).content.decode()
    Project.objects.update(**changed)
    assert "hx-get" not in dashboard.get(steps, headers=HTMX).content.decode()
