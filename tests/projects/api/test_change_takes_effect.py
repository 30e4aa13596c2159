"""When a change takes effect: a credential at once, anything else at the next start, or now with `restart=true`."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import clock
from containers.errors import EngineRefusedError, EngineUnavailableError, ImageMissingError
from projects.models import Project
from projects.rules.type_facts import default_model
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.api.commands import Change, deploys, in_flight
from tests.projects.given_credentials import credentials_of

OTHERS = {"telegram_bot_token": CANARY_OTHER_TELEGRAM_TOKEN, "agent_api_key": CANARY_OTHER_API_KEY}


def test_a_change_waits_for_the_next_start_and_a_credential_does_not(
    change: Change, project: Project, engine: MemoryEngine
) -> None:
    answer = change(
        apiKey=CANARY_OTHER_API_KEY,
        telegramToken=CANARY_OTHER_TELEGRAM_TOKEN,
        settings={"model": "small-2"},
        plan="starter",
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    assert deploys(engine) == 1
    assert credentials_of(engine, project) == OTHERS
    container = engine.containers[project.container_name]
    assert container.spec is not None
    assert container.spec.memory == 1024 << 20
    usual = default_model(project.agent_type.default_models, "openai")
    assert usual
    assert container.spec.environment["AGENT_MODEL"] == usual


def test_without_the_gateway_a_credential_needs_a_restart_too(
    deploy: Callable[..., Project], api: APIClient, engine: MemoryEngine, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    project = deploy()
    assert api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY}).status_code == 200
    assert engine.secrets_of(project.container_name)["agent_api_key"] == CANARY_API_KEY


def test_restart_true_applies_a_change_now(change: Change, project: Project, engine: MemoryEngine) -> None:
    before = engine.containers[project.container_name].container_id
    answer = change(
        query="?restart=true",
        apiKey=CANARY_OTHER_API_KEY,
        telegramToken=CANARY_OTHER_TELEGRAM_TOKEN,
        settings={"model": "small-2"},
        plan="starter",
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    container = engine.containers[project.container_name]
    assert container.container_id != before
    assert credentials_of(engine, project) == OTHERS
    assert container.spec is not None
    assert container.spec.memory == 512 << 20
    assert container.spec.environment["AGENT_MODEL"] == "small-2"


def test_restart_false_is_the_default(change: Change, engine: MemoryEngine) -> None:
    assert change(query="?restart=false", name="Renamed").status_code == 200
    assert deploys(engine) == 1


def test_a_stopped_project_gets_a_change_at_its_start(
    change: Change, project: Project, api: APIClient, engine: MemoryEngine
) -> None:
    api.post(f"/api/projects/{project.id}/control", {"action": "stop"})
    assert change(apiKey=CANARY_OTHER_API_KEY).json()["status"] == "stopped"
    api.post(f"/api/projects/{project.id}/control", {"action": "start"})
    assert credentials_of(engine, project)["agent_api_key"] == CANARY_OTHER_API_KEY


def _fall_silent(engine: MemoryEngine, project: Project) -> None:
    engine.unavailable = True


def _refuse(engine: MemoryEngine, project: Project) -> None:
    engine.fail("deploy.create", EngineRefusedError)


def _lose_the_image(engine: MemoryEngine, project: Project) -> None:
    engine.fail("deploy", ImageMissingError, times=2)


def _be_busy(engine: MemoryEngine, project: Project) -> None:
    in_flight(project, "start")


def _be_stopped(engine: MemoryEngine, project: Project) -> None:
    engine.slow("deploy.create", lambda: in_flight(project, "stop"))


REFUSALS: dict[str, tuple[Callable[[MemoryEngine, Project], None], int, str]] = {
    "the engine falls silent": (_fall_silent, 503, "engine_unavailable"),
    "the engine refuses": (_refuse, 502, "engine_error"),
    "the image is missing": (_lose_the_image, 502, "engine_error"),
    "another command is under way": (_be_busy, 409, "operation_in_progress"),
    "a stop wins": (_be_stopped, 409, "superseded"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_failed_restart_is_reported_and_the_change_stays(
    refusal: str, change: Change, project: Project, engine: MemoryEngine
) -> None:
    refuse, status, code = REFUSALS[refusal]
    refuse(engine, project)
    answer = change(query="?restart=true", name="Renamed")
    assert_problem(answer, status, code)
    assert answer.json()["detail"].startswith("The change is stored, but the agent was not restarted. ")
    project.refresh_from_db()
    assert project.name == "Renamed"


def test_a_change_that_is_refused_is_not_called_stored(change: Change, project: Project, engine: MemoryEngine) -> None:
    Project.objects.filter(pk=project.pk).update(suspended_at=clock.now())
    answer = change(query="?restart=true", name="Renamed")
    assert_problem(answer, 409, "project_suspended")
    assert "stored" not in answer.json()["detail"]


def test_a_change_needs_no_engine(change: Change, engine: MemoryEngine) -> None:
    engine.fail("inspect", EngineUnavailableError, times=99)
    engine.unavailable = True
    answer = change(name="Renamed")
    assert (answer.status_code, answer.json()["name"]) == (200, "Renamed")
