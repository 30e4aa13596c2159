"""Agents that end, and people who act past the service: the next read is right, and what can be repaired is."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Project
from projects.watcher.watcher import Watcher
from tests.chaos.agents.drifts import DRIFTS, MENDING, ONCE, TRUE_OF, Drift, grow_old
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.stub import STUB_PROJECT
from tests.deploying import create_project
from tests.fakes.faulty_docker import FaultyDocker, faulty_docker
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(7200),
    pytest.mark.django_db(transaction=True),
]

MENDED_WITHIN = 35.0
"""Seconds that a repair may take on a machine that does little else. Only the long version requires it."""
PATIENCE = 120.0
FRESH = 5.5
"""Seconds that the contents of a read may be old, and some for the reading."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("--chaos", "short") == "long"
    if "reads" in metafunc.fixturenames:
        metafunc.parametrize("reads", [100 if every else 2], ids=str)
    if "mends" in metafunc.fixturenames:
        metafunc.parametrize("mends", [5 if every else 1], ids=str)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyDocker]:
    with faulty_docker(tmp_path_factory.mktemp("proxy")) as made:
        yield made


@pytest.fixture
def api(proxy: FaultyDocker, real_engine: Callable[[str], None], api: APIClient) -> APIClient:
    real_engine(proxy.url)
    proxy.requests.clear()
    return api


def state_of(docker_instance: DockerInstance, project: Project) -> str:
    return docker_instance.containers().get(project.container_name, "")


@pytest.mark.parametrize("kind", [kind for kind in DRIFTS if kind not in ONCE])
def test_the_read_after_a_drift_is_correct(
    kind: str, reads: int, api: APIClient, docker_instance: DockerInstance
) -> None:
    """Without a watcher the read itself asks the engine. A read during which the container changed proves nothing."""
    drift = DRIFTS[kind]
    project = create_project(api, STUB_PROJECT)
    drift.do(docker_instance, project.container_name)
    wait_until(lambda: state_of(docker_instance, project) == drift.state)
    told = 0
    while told < reads:
        grow_old(project)
        before = docker_instance.state_and_restarts(project.container_name)
        status = api.get(f"/api/projects/{project.id}").json()["status"]
        if docker_instance.state_and_restarts(project.container_name) == before:
            told += 1
            assert status in TRUE_OF[before[0]], (before, status)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", DRIFTS)
def test_drift_is_repaired_and_no_read_meanwhile_is_too_old(
    kind: str, mends: int, api: APIClient, docker_instance: DockerInstance, watcher: Callable[[], Watcher]
) -> None:
    drift = DRIFTS[kind]
    watcher()
    for _ in range(mends):
        project = create_project(api, STUB_PROJECT)
        seen: list[tuple[float, str]] = []
        path = f"/api/projects/{project.id}"
        drift.do(docker_instance, project.container_name)

        def is_mended(path: str = path, project: Project = project, seen: list[tuple[float, str]] = seen) -> bool:
            seen.append((time.monotonic(), state_of(docker_instance, project)))
            detail = api.get(path).json()
            seen.append((time.monotonic(), state_of(docker_instance, project)))
            if not is_justified(detail["status"], seen):
                time.sleep(ANNOUNCED)
                seen.append((time.monotonic(), state_of(docker_instance, project)))
            assert is_justified(detail["status"], seen), (detail["status"], seen[-8:])
            return is_over(drift, kind, project, detail, seen[-1][1])

        wait_until(is_mended, within=MENDED_WITHIN if mends > 1 else PATIENCE)
        assert api.delete(path).status_code == 204
        assert docker_instance.containers() == {}


ANNOUNCED = 0.5
"""Seconds by which the engine's event of an end may precede what an inspection shows."""


def is_justified(status: str, seen: list[tuple[float, str]]) -> bool:
    """Returns whether it was true of the engine at a moment that a read may show.

    The last two of `seen` are from right before and right after the read, no matter how long that took.
    """
    since = seen[-2][0] - FRESH
    lately = {state for at, state in seen if at >= since}
    # The first look came after the drift; before that it ran.
    lately |= {"running"} if seen[0][0] >= since else set()
    return status in MENDING or any(status in TRUE_OF[state] for state in lately)


def is_over(drift: Drift, kind: str, project: Project, detail: dict[str, Any], state: str) -> bool:
    if drift.ends == "running":
        row = Project.objects.get(pk=project.pk)
        changed = row.started_at != project.started_at
        return changed and (state, detail["status"]) == ("running", "running")
    reason = detail["status_reason"] or {}
    is_told = reason.get("log_tail") and ("memory" not in kind or reason["oom_killed"])
    return bool((state, detail["status"]) == ("exited", "crashed") and is_told)


def test_a_cut_event_stream_costs_only_time(
    api: APIClient, docker_instance: DockerInstance, proxy: FaultyDocker, watcher: Callable[[], Watcher]
) -> None:
    project = create_project(api, STUB_PROJECT)
    watcher()
    wait_until(proxy.cut_streams)  # requested, and not open yet
    docker_instance.client.kill(project.container_name)
    wait_until(lambda: state_of(docker_instance, project) == "exited" or Project.objects.get().crash_count)
    wait_until(lambda: state_of(docker_instance, project) == "running")
    wait_until(lambda: api.get(f"/api/projects/{project.id}").json()["status"] == "running")
    assert Project.objects.get().crash_count == 1


def test_an_engine_that_is_away_makes_every_status_unknown_and_comes_back(
    api: APIClient,
    docker_instance: DockerInstance,
    proxy: FaultyDocker,
    watcher: Callable[[], Watcher],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("containers.docker_api.circuit_breaker.PAUSE", 0.5)
    project = create_project(api, STUB_PROJECT)
    watcher()
    path = f"/api/projects/{project.id}"
    proxy.break_("refuse")
    proxy.cut_streams()
    docker_instance.client.kill(project.container_name)
    wait_until(lambda: api.get(path).json()["status"] == "unknown")
    assert {api.get(path).json()["status"] for _ in range(20)} == {"unknown"}
    proxy.heal()
    wait_until(lambda: api.get(path).json()["status"] == "running")
    assert state_of(docker_instance, project) == "running"
