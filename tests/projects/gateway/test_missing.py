"""A gateway that cannot run: no agent starts without it, nothing gets stuck, and staff see why."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from containers.errors import EngineError, EngineRefusedError, ImageMissingError, NameTakenError
from projects.models import Gateway, Project
from projects.services.gateway.provisioning import describe_trouble
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_gateway import GATEWAY_IMAGE
from tests.problem_document import assert_problem
from tests.projects.gateway.entries import counts_for

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]
REFUSALS = [ImageMissingError, EngineRefusedError, NameTakenError]


@pytest.fixture
def lose_gateway(engine: MemoryEngine) -> Callable[[], None]:
    """It is gone, and so is its image."""

    def lose() -> None:
        engine.images.discard(GATEWAY_IMAGE)
        engine.remove_gateway()
        Gateway.objects.update(found_at=None)

    return lose


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_deploy_is_asked_to_come_again_and_leaves_nothing(
    refusal: type[EngineError], engine: MemoryEngine, api: Any, body: dict[str, Any]
) -> None:
    engine.fail("ensure_gateway", refusal("The image of /var/lib is missing."))
    answer = api.post("/api/projects", body)
    assert_problem(answer, 503, "engine_unavailable")
    assert "the gateway does not run" in answer.json()["detail"]
    assert "/var/lib" not in answer.content.decode()
    assert not Project.objects.exists()
    assert engine.containers == {}
    assert api.post("/api/projects", body).status_code == 201


def test_without_a_gateway_running_agents_continue_and_stopped_ones_stay_stopped(
    engine: MemoryEngine, project: Project, deploy: Callable[..., Project], control: Control, lose_gateway: Any
) -> None:
    stopped = deploy(telegramToken="77:another-bot")
    control(stopped, "stop")
    container = engine.containers[project.container_name].container_id
    lose_gateway()
    assert_problem(control(project, "restart"), 503, "engine_unavailable")
    assert_problem(control(stopped, "start"), 503, "engine_unavailable")
    reconcile()
    for each in (project, stopped):
        each.refresh_from_db()
    assert (project.status, stopped.status) == ("running", "stopped")
    assert (project.operation, stopped.operation, project.failure_code) == ("", "", "")
    assert engine.containers[project.container_name].container_id == container


@pytest.mark.parametrize("end", ["vanish", "restart"])
def test_ended_agents_come_back_with_the_gateway(
    end: str, engine: MemoryEngine, project: Project, lose_gateway: Any
) -> None:
    lose_gateway()
    engine.vanish(project.container_name) if end == "vanish" else engine.restart_engine()
    for _ in range(3):
        result = reconcile()
        assert result.repaired == []
    project.refresh_from_db()
    assert (project.operation, project.failure_code, project.gave_up_at) == ("", "", None)
    engine.images.add(GATEWAY_IMAGE)
    look_after_gateway()
    assert len(reconcile().repaired) == 1
    project.refresh_from_db()
    assert project.status == "running"
    assert counts_for(engine, project) == (True, True)


@pytest.mark.parametrize("verb", ["stop", "delete"])
def test_an_owner_can_always_stop_an_agent(
    verb: str, engine: MemoryEngine, project: Project, control: Control, api: Any, lose_gateway: Any
) -> None:
    lose_gateway()
    if verb == "stop":
        assert control(project, "stop").json()["status"] == "stopped"
    else:
        assert api.delete(f"/api/projects/{project.pk}").status_code == 204
        assert engine.containers == {}


def test_with_the_gateway_switched_off_agents_start_without_it(
    engine: MemoryEngine, project: Project, control: Control, settings: Any, lose_gateway: Any
) -> None:
    lose_gateway()
    settings.BERTH_GATEWAY = False
    assert control(project, "restart").status_code == 200
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    assert spec.address is None


def test_staff_see_a_missing_gateway_while_it_is_missing(engine: MemoryEngine, sam: Any, client: Client) -> None:
    """From the first check on, even if none has ever run."""
    engine.images.discard(GATEWAY_IMAGE)
    look_after_gateway()
    assert "image is not on the engine" in describe_trouble()
    assert "BERTH_GATEWAY=off" in describe_trouble()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["gateway"]) == (200, "unavailable")
    client.force_login(sam)
    assert "The gateway does not work." in client.get("/admin/").content.decode()
    engine.images.add(GATEWAY_IMAGE)
    look_after_gateway()
    assert describe_trouble() == ""
    assert "gateway" not in client.get("/readyz").json()


def test_without_firewall_rights_staff_see_that_the_credential_alone_counts(engine: MemoryEngine) -> None:
    engine.knows_sources = False
    look_after_gateway()
    assert "counts from anywhere" in describe_trouble()
