"""How many calls of a real engine each command of the API takes in total."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from tests.chaos.inside.prepare import add_offers
from tests.containers.conftest import docker_installation, docker_under_test  # noqa: F401 - fixtures
from tests.containers.docker_under_test import DockerUnderTest
from tests.deploying import create_project
from tests.engine_calls import calls, rows  # noqa: F401 - fixtures

pytestmark = [pytest.mark.docker, pytest.mark.one_database]

MOST = {"create": 10, "stop": 2, "stop again": 5, "start": 13, "start again": 3, "restart": 15, "delete": 13}


@pytest.mark.rare(1)
def test_each_command_makes_only_the_necessary_engine_calls(
    api: APIClient,
    docker_under_test: DockerUnderTest,  # noqa: F811 - the fixture
    calls: list[str],  # noqa: F811 - the fixture
    settings: Any,
) -> None:
    settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
    add_offers(AgentType, Plan, docker_under_test.image)
    offer = {"type": "stub", "plan": "chaos"}
    first = create_project(api, {"name": "First", **offer})  # it creates the network, and the engine's client
    counted: dict[str, list[str]] = {}

    def count(command: str) -> None:
        counted[command] = list(calls)
        calls.clear()

    calls.clear()
    project = create_project(api, {"name": "Counted", **offer})
    count("create")
    for command in ("stop", "stop again", "start", "start again", "restart"):
        assert api.post(f"/api/projects/{project.pk}/control", {"action": command.split()[0]}).status_code == 200
        count(command)
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    count("delete")
    assert {command: len(asked) for command, asked in counted.items() if len(asked) > MOST[command]} == {}, counted
    assert list(Project.objects.all()) == [first]


@pytest.mark.rare(1)
def test_no_command_lists_other_projects_agents(
    api: APIClient,
    docker_under_test: DockerUnderTest,  # noqa: F811 - the fixture
    rows: list[tuple[str, int]],  # noqa: F811 - the fixture
    settings: Any,
) -> None:
    """Among 300 other agents, such a list took a create 50 ms."""
    settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
    add_offers(AgentType, Plan, docker_under_test.image)
    offer = {"type": "stub", "plan": "chaos"}
    for number in range(3):  # the first one creates the network
        create_project(api, {"name": f"Other {number}", **offer})
    rows.clear()
    project = create_project(api, {"name": "Listed", **offer})
    for command in ("stop", "stop", "start", "start", "restart"):
        assert api.post(f"/api/projects/{project.pk}/control", {"action": command}).status_code == 200
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    own = {"containers": 1, "volumes": 2}
    assert {kind for kind, _ in rows} == own.keys()
    assert [(kind, count) for kind, count in rows if count > own[kind]] == []


def test_a_stop_reports_how_the_agent_ended(
    api: APIClient,
    docker_under_test: DockerUnderTest,  # noqa: F811 - the fixture
    settings: Any,
) -> None:
    """Although there is no further call after it."""
    settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
    add_offers(AgentType, Plan, docker_under_test.image)
    project = create_project(api, {"name": "Ended", "type": "stub", "plan": "chaos"})
    answer = api.post(f"/api/projects/{project.pk}/control", {"action": "stop"})
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")
    project.refresh_from_db()
    seen = docker_under_test.client.inspect_container(project.container_id)
    assert (project.container_state, project.exit_code) == ("exited", seen["State"]["ExitCode"])
    assert project.finished_at is not None
    assert project.finished_at.isoformat()[:19] == seen["State"]["FinishedAt"][:19]
