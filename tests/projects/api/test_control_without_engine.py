"""POST /api/projects/{id}/control when the engine is silent or refuses."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.api.commands import Control


@pytest.mark.parametrize("action", ["start", "restart"])
def test_with_the_engine_down_nothing_is_recorded(
    action: str, control: Control, stopped: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    answer = control(action)
    assert (answer.status_code, answer.json()["code"]) == (503, "engine_unavailable")
    assert "Retry-After" in answer
    stopped.refresh_from_db()
    assert (stopped.desired, stopped.operation) == ("stopped", "")


def test_with_the_engine_down_a_stop_is_recorded(control: Control, project: Project, engine: MemoryEngine) -> None:
    engine.unavailable = True
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (202, "unknown")
    project.refresh_from_db()
    assert (project.desired, project.operation) == ("stopped", "")


def test_a_stop_is_202_however_lately_the_engine_was_seen(
    control: Control, project: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (202, "stopping")


@pytest.mark.parametrize("verb", ["deploy.create", "deploy.start"])
def test_a_refusal_of_the_engine_makes_the_project_failed_with_the_reason(
    verb: str, control: Control, api: APIClient, stopped: Project, engine: MemoryEngine
) -> None:
    engine.fail(verb, EngineRefusedError("The disk is full."))
    answer = control("start")
    assert (answer.status_code, answer.json()["code"]) == (502, "engine_error")
    detail = api.get(f"/api/projects/{stopped.id}").json()
    assert detail["status"] == "failed"
    assert detail["status_reason"]["code"] == "engine_refused"
    assert control("start").json()["status"] == "running"


def test_a_foreign_container_with_the_name_is_not_touched(
    control: Control, api: APIClient, stopped: Project, engine: MemoryEngine
) -> None:
    engine.vanish(stopped.container_name)
    foreign = engine.foreign(stopped.container_name)
    answer = control("start")
    assert (answer.status_code, answer.json()["code"]) == (502, "engine_error")
    assert engine.containers[stopped.container_name] is foreign
    assert api.get(f"/api/projects/{stopped.id}").json()["status_reason"]["code"] == "name_taken"


def test_a_silent_engine_leaves_the_desired_state_as_before(
    control: Control, stopped: Project, engine: MemoryEngine
) -> None:
    engine.fail("deploy.start", EngineUnavailableError)
    assert control("start").status_code == 503
    stopped.refresh_from_db()
    assert (stopped.desired, stopped.operation) == ("stopped", "")
