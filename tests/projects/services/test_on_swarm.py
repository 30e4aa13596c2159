"""The main job on a real Swarm of one node: a project is deployed, stopped, started, refused and deleted by the API."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Plan
from projects.watcher.reconcile.full import reconcile
from tests.chaos.inside.prepare import add_offers
from tests.containers.conftest import swarm_installation, swarm_under_test  # noqa: F401 - fixtures
from tests.containers.swarm.under_test import SwarmUnderTest
from tests.deploying import create_project


@pytest.mark.docker
@pytest.mark.rare(3)
@pytest.mark.one_database
def test_a_project_lives_on_a_swarm(
    api: APIClient,
    swarm_under_test: SwarmUnderTest,  # noqa: F811 - the fixture
    settings: Any,
) -> None:
    settings.BERTH_ENGINE_CLASS = "containers.swarm.engine.SwarmEngine"
    settings.BERTH_GATEWAY = False
    add_offers(AgentType, Plan, swarm_under_test.image)
    project = create_project(api, {"name": "Mover", "type": "stub", "plan": "chaos"})
    path = f"/api/projects/{project.pk}"
    reconcile()
    assert api.get(path).json()["status"] == "running"

    assert api.post(f"{path}/control", {"action": "stop"}).json()["status"] == "stopped"
    reconcile()
    assert api.get(path).json()["status"] == "stopped"
    assert b'"state":"stopped"' in api.get(f"{path}/logs").content
    assert api.post(f"{path}/control", {"action": "start"}).status_code == 200
    assert swarm_under_test.is_running(project.container_name)

    Plan.objects.filter(slug="chaos").update(memory_mb=1 << 30)
    settings.BERTH_OVERCOMMIT = 1_000_000
    refused = api.post(f"{path}/control", {"action": "restart"})
    assert (refused.status_code, refused.json()["code"]) == (503, "no_capacity")
    assert api.delete(path).status_code in {200, 202, 204}
    reconcile()
    assert swarm_under_test.id_of(project.container_name) is None
    assert swarm_under_test.volumes(project.container_name) == set()
