"""A stop always succeeds: during a slow deploy, with a deaf agent, and without an engine."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.docker_api.circuit_breaker import FAILURES
from projects.models import Project
from tests.chaos.consistency import await_consistency
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.server import Server, Site
from tests.chaos.stub import STUB_PROJECT
from tests.deploying import create_project
from tests.fakes.faulty_docker import FaultyDocker, faulty_docker

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

in_process = pytest.mark.django_db(transaction=True)


@pytest.fixture
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDocker]:
    with faulty_docker(tmp_path_factory.mktemp("proxy")) as made:
        yield made


@pytest.fixture
def api(proxy: FaultyDocker, real_engine: Callable[[str], None], api: APIClient) -> APIClient:
    real_engine(proxy.url)
    return api


@pytest.mark.parametrize(
    "point",
    ["before create_container_from_config", "after create_container_from_config", "after put_archive", "before start"],
)
def test_a_stop_during_a_slow_deploy_wins_and_leaves_no_container(
    point: str, site: Site, server: Server, docker_instance: DockerInstance
) -> None:
    answers: list[Any] = []
    with site.holding(point) as wait:
        slow = threading.Thread(target=lambda: answers.append(server.create()))
        slow.start()
        wait()
        [project] = [each for each in server.call("GET", "/api/projects").json if each["status"] == "deploying"]
        stopped = server.control(project["id"], "stop")
        assert (stopped.status, stopped.json["status"]) == (200, "stopped")
    slow.join()
    assert (answers[0].status, answers[0].json["status"]) == (201, "stopped")
    assert docker_instance.containers() == {}
    await_consistency(server, docker_instance)
    assert server.delete(project["id"]).status == 204


@in_process
def test_an_agent_that_ignores_sigterm_is_killed_at_its_timeout(
    api: APIClient, docker_instance: DockerInstance
) -> None:
    project = create_project(api, STUB_PROJECT | {"settings": {"instructions": "deaf"}})
    path = f"/api/projects/{project.id}"
    began = time.monotonic()
    answer = api.post(f"{path}/control", {"action": "stop"})
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")
    assert time.monotonic() - began >= project.agent_type.stop_timeout
    state = docker_instance.client.inspect_container(project.container_name)["State"]
    assert (state["Status"], state["ExitCode"]) == ("exited", 137)
    project.refresh_from_db()
    assert (project.exit_code, project.oom_killed) == (137, False)
    detail = api.get(path).json()
    assert (detail["status"], detail["status_reason"]) == ("stopped", None)


@in_process
@pytest.mark.parametrize("mode", ["refuse", "hang"])
def test_while_the_engine_is_down_every_request_is_answered_without_it(
    mode: str, api: APIClient, proxy: FaultyDocker, docker_instance: DockerInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/projects/{create_project(api, STUB_PROJECT).id}"
    monkeypatch.setattr("containers.docker_api.client.CALL_LIMIT", 0.5)
    monkeypatch.setattr("containers.docker_api.client.READ_DEADLINE", 0.5)
    for pause in ("PAUSE", "SHORT_PAUSE"):
        monkeypatch.setattr(f"containers.docker_api.circuit_breaker.{pause}", 1000.0)
    long_ago = timezone.now() - timedelta(minutes=1)
    Project.objects.update(observed_at=long_ago, updated_at=long_ago)
    proxy.break_(mode)
    for _ in range(FAILURES):
        assert api.post(f"{path}/control", {"action": "restart"}).status_code == 503
        assert api.get(path).json()["status"] == "unknown"
    # Both breakers are open now: from here on nobody waits.
    asked = len(proxy.requests)
    for action in ("start", "restart"):
        answer = api.post(f"{path}/control", {"action": action})
        assert (answer.status_code, answer.json()["code"]) == (503, "engine_unavailable")
        assert int(answer["Retry-After"]) >= 1
    assert api.post("/api/projects", STUB_PROJECT).status_code == 503
    assert {api.get(path).json()["status"] for _ in range(20)} == {"unknown"}
    assert [project["status"] for project in api.get("/api/projects").json()] == ["unknown"]
    assert len(proxy.requests) == asked
    assert Project.objects.get().desired == "running"
    answer = api.post(f"{path}/control", {"action": "stop"})
    assert (answer.status_code, answer.json()["status"]) == (202, "unknown")
    assert Project.objects.get().desired == "stopped"
    assert list(docker_instance.containers().values()) == ["running"]
