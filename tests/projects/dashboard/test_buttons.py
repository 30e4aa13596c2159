"""The buttons of a project's page: start, stop and restart."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from containers.errors import EngineRefusedError
from projects.models import Project
from projects.rules.status.lifecycle import Desired, Operation
from tests.fakes.engine import MemoryEngine
from tests.projects.dashboard.pages import path_of, press, sensible_buttons, text_of


def test_only_the_sensible_buttons_can_be_pressed(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    assert sensible_buttons(dashboard, project) == ["stop", "restart"]
    press(dashboard, project, "stop")
    assert sensible_buttons(dashboard, project) == ["start"]
    press(dashboard, project, "start")
    engine.crash(project.container_name, exit_code=20)
    Project.objects.update(observed_at=None)
    assert sensible_buttons(dashboard, project) == ["start", "stop"]
    Project.objects.update(suspended_at=timezone.now())
    assert sensible_buttons(dashboard, project) == []
    Project.objects.update(desired=Desired.DELETED)
    assert sensible_buttons(dashboard, project) == []


@pytest.mark.parametrize(
    ("action", "sentence", "state"),
    [("stop", "is stopped.", "exited"), ("start", "is started.", "running"), ("restart", "is restarted.", "running")],
)
def test_a_button_does_what_it_says(
    dashboard: Client, project: Project, engine: MemoryEngine, action: str, sentence: str, state: str
) -> None:
    answer = press(dashboard, project, action)
    assert (answer.status_code, answer.url) == (302, path_of(project))
    assert sentence in text_of(dashboard.get(answer.url))
    assert engine.containers[project.container_name].state == state


def test_reading_the_address_of_the_buttons_leads_to_the_page(dashboard: Client, project: Project) -> None:
    assert dashboard.get(path_of(project, "/control")).headers["Location"] == path_of(project)


def test_an_unknown_action_is_a_400(dashboard: Client, project: Project) -> None:
    assert press(dashboard, project, "explode").status_code == 400
    assert dashboard.post(path_of(project, "/control")).status_code == 400


def test_a_command_during_another_is_a_409(dashboard: Client, project: Project) -> None:
    later = timezone.now() + timedelta(seconds=20)
    Project.objects.update(operation=Operation.RESTART, operation_id=uuid.uuid4(), operation_deadline=later)
    answer = press(dashboard, project, "start")
    assert (answer.status_code, answer["Retry-After"]) == (409, "5")
    assert "Another command is being carried out" in text_of(answer)
    assert "Recent log" in text_of(answer)


def test_a_suspended_project_cannot_be_started(dashboard: Client, project: Project) -> None:
    Project.objects.update(suspended_at=timezone.now())
    assert press(dashboard, project, "start").status_code == 409


def test_a_start_on_a_silent_engine_is_a_503_and_a_stop_is_promised(
    dashboard: Client, project: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    assert press(dashboard, project, "restart").status_code == 503
    answer = press(dashboard, project, "stop")
    assert answer.status_code == 302
    assert "is being stopped" in text_of(dashboard.get(answer.url))
    assert Project.objects.get().desired == Desired.STOPPED


def test_a_refusing_engine_is_a_502(dashboard: Client, project: Project, engine: MemoryEngine) -> None:
    press(dashboard, project, "stop")
    engine.fail("deploy", EngineRefusedError("The disk is full."))
    answer = press(dashboard, project, "start")
    assert answer.status_code == 502
    assert "The disk is full." in text_of(answer)


# -- limits ---------------------------------------------------------------------------------------------------------


def test_forms_count_like_requests_of_the_api(dashboard: Client, project: Project, settings: Any) -> None:
    settings.BERTH_LIMITS = {"commands": 1, "deploys": 0}
    control = f"{path_of(project)}/control"
    assert dashboard.post(control, {"action": "stop"}).status_code == 302
    answer = dashboard.post(control, {"action": "start"})
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
    assert "Too many requests" in answer.content.decode()


def test_a_form_that_is_filled_in_wrongly_counts_too(
    dashboard: Client, project: Project, settings: Any, engine: MemoryEngine
) -> None:
    """The answer is a whole page, with the log of the agent."""
    settings.BERTH_LIMITS = {"commands": 1, "deploys": 1}
    control = f"{path_of(project)}/control"
    assert dashboard.post(control, {"action": "dance"}).status_code == 400
    before = len(engine.calls)
    assert dashboard.post(control, {"action": "dance"}).status_code == 429
    assert len(engine.calls) == before
    assert dashboard.post("/projects/new", {}).status_code == 400
    assert dashboard.post("/projects/new", {}).status_code == 429


def test_a_secret_that_cannot_be_read_is_a_sentence(dashboard: Client, project: Project, settings: Any) -> None:
    settings.BERTH_ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    answer = dashboard.post(f"{path_of(project)}/control", {"action": "restart"})
    assert answer.status_code == 409
    assert "cannot be decrypted" in answer.content.decode()
