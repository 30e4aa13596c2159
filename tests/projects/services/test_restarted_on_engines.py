"""On real engines: an agent that was restarted, in any way, has said nothing until its new run has reported."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.identity import container_name
from projects.models import AgentType, Plan, Project
from projects.rules.status.derivation import derive_status
from projects.watcher.reconcile.full import reconcile
from tests.busybox import pack_root
from tests.chaos.inside.prepare import add_offers
from tests.containers.conftest import (  # noqa: F401 - fixtures
    docker_installation,
    docker_under_test,
    swarm_installation,
    swarm_under_test,
)
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.inside import run_inside
from tests.containers.swarm.under_test import SwarmUnderTest
from tests.deploying import create_project
from tests.waiting import wait_until

REPORTS_ONCE = """#!/bin/sh
trap 'exit 0' TERM
report() { echo 'AGENT-STATUS {"v":1,"state":"running"}'; }
test -e /data/been || { touch /data/been; report; }
while :; do test -e /tmp/now && { rm /tmp/now; report; }; sleep 0.1; done
"""
"""Its first run reports at once, any later one when there is /tmp/now."""


@pytest.fixture
def image(request: pytest.FixtureRequest, some_engine: Any) -> Iterator[str]:
    """Without a health check, or with one that does not pass for a long time."""
    check = "HEALTHCHECK --interval=300ms --timeout=5s --start-period=600s CMD false"
    changes = ['CMD ["/agent"]', "ENV PATH=/bin", *([check] if request.param == "checked" else [])]
    name = f"berth-test/once-{container_name(some_engine.key)}"
    root = pack_root({"agent": REPORTS_ONCE}, applets=("sh", "echo", "test", "touch", "rm", "sleep", "false"))
    some_engine.client.import_image_from_data(root, repository=name, tag="1", changes=changes)
    yield f"{name}:1"
    some_engine.clean_up()
    some_engine.client.remove_image(f"{name}:1", force=True)


@pytest.fixture(params=["docker", pytest.param("swarm", marks=pytest.mark.rare(5))])
def some_engine(request: pytest.FixtureRequest, settings: Any) -> Any:
    kind = {"docker": "DockerEngine", "swarm": "SwarmEngine"}[request.param]
    found = request.getfixturevalue(f"{request.param}_under_test")
    settings.BERTH_ENGINE_CLASS = f"containers.{request.param}.engine.{kind}"
    settings.BERTH_GATEWAY = False
    return found


def _container(engine: DockerUnderTest | SwarmUnderTest, name: str) -> str:
    return engine.container_of(name) if isinstance(engine, SwarmUnderTest) else name


def _by_verb(api: APIClient, engine: Any, project: Project) -> None:
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).status_code == 200


def _killed(api: APIClient, engine: Any, project: Project) -> None:
    """The engine's policy or the watcher starts it again."""
    engine.client.kill(_container(engine, project.container_name))


def _from_outside(api: APIClient, engine: Any, project: Project) -> None:
    engine.client.restart(_container(engine, project.container_name), timeout=1)


def _row(project: Project) -> Project:
    reconcile(changed_keys={project.container_key})
    return Project.objects.select_related("owner", "agent_type").get(pk=project.pk)


@pytest.mark.docker
@pytest.mark.one_database
@pytest.mark.sampled(3)
@pytest.mark.parametrize("restart", [_by_verb, _killed, _from_outside])
@pytest.mark.parametrize("image", ["plain", "checked"], indirect=True)
def test_a_restarted_agent_is_starting_until_it_has_reported(
    api: APIClient, some_engine: Any, image: str, restart: Callable[..., None]
) -> None:
    add_offers(AgentType, Plan, image)
    project = create_project(api, {"name": "Once", "type": "stub", "plan": "chaos"})
    wait_until(lambda: _row(project).agent_state == "running")
    first = _row(project)

    restart(api, some_engine, first)
    seen: list[Project] = []

    def is_up_again() -> bool:
        seen.append(_row(project))
        row = seen[-1]
        is_another = (row.container_id, row.started_at) != (first.container_id, first.started_at)
        return row.container_state == "running" and row.started_at is not None and is_another

    wait_until(is_up_again)
    for _ in range(3):
        row = _row(project)
        assert row.agent_state == ""
        row.observed_at = row.started_at  # the status just after the start, on however slow a machine
        assert derive_status(row.facts(row.started_at)) == "starting"
    where = _container(some_engine, project.container_name)
    code, output = run_inside(some_engine.client, where, "touch", "/tmp/now")
    assert code == 0, output
    wait_until(lambda: _row(project).status == "running" and _row(project).agent_state == "running")
