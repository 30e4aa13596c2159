"""A Docker socket that fails in ten ways, in the middle of every command: each answer is a sentence, none takes longer
than half a minute, and everything is right again soon after it works again."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.docker import containers, deploy
from containers.docker_api import circuit_breaker, client
from containers.errors import EngineUnavailableError
from projects.models import Project
from projects.watcher.reconcile import full as rounds
from projects.watcher.reconcile import orphans
from tests.chaos.consistency import assert_consistent
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.stub import STUB_PROJECT
from tests.deploying import create_project
from tests.fakes.faulty_docker import MODES, FaultyDocker, faulty_docker
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(36_000),
    pytest.mark.django_db(transaction=True),
]

VERBS = ("deploy", "start", "stop", "restart", "delete")
ANSWER_LIMIT = 30.0
HEALING_LIMIT = 60.0


EVERY_CASE = [(mode, verb) for mode in MODES for verb in VERBS]
SHORT = [(mode, VERBS[number % len(VERBS)]) for mode in MODES for number in (MODES.index(mode), MODES.index(mode) + 2)]
"""Every mode with two verbs, every verb with four modes."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "repeats" in metafunc.fixturenames:
        every = metafunc.config.getoption("--chaos", "short") == "long"
        metafunc.parametrize(("mode", "verb"), EVERY_CASE if every else SHORT)
        metafunc.parametrize("repeats", [metafunc.config.getoption("--repeats") if every else 1], ids=str)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, is_long: bool) -> Iterator[FaultyDocker]:
    with faulty_docker(tmp_path_factory.mktemp("proxy"), delay=5.0 if is_long else 0.3) as made:
        yield made


@pytest.fixture
def api(proxy: FaultyDocker, real_engine: Callable[[str], None], api: APIClient) -> Iterator[APIClient]:
    real_engine(proxy.url)
    yield api
    proxy.heal()


@pytest.fixture(autouse=True)
def _soon(is_long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Orphans are removed at any age. In the short version the breaker closes again soon."""
    monkeypatch.setattr(orphans, "ORPHAN_AGE", timedelta(0))
    if not is_long:
        monkeypatch.setattr(circuit_breaker, "PAUSE", 0.3)


@contextmanager
def short_limits(monkeypatch: pytest.MonkeyPatch, *, is_long: bool) -> Iterator[None]:
    """Divides all limits by ten in the short version, while the engine is faulty.

    Not before and after that: on a busy machine a healthy engine may take longer.
    """
    with monkeypatch.context() as patch:
        if not is_long:
            patch.setattr(client, "CALL_LIMIT", 1.0)
            patch.setattr(client, "READ_DEADLINE", 0.2)
            patch.setattr(containers, "STOP_MARGIN", 0.5)
            patch.setattr(deploy, "DEPLOY_LIMIT", 2.0)
            patch.setattr(deploy, "UNDO_LIMIT", 0.5)
        yield


@pytest.mark.sampled(4)
def test_with_a_faulty_engine_answers_stay_true_and_timely(
    mode: str,
    verb: str,
    repeats: int,
    api: APIClient,
    proxy: FaultyDocker,
    docker_instance: DockerInstance,
    is_long: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(f"{mode} {verb}")
    for _ in range(repeats):
        send = command(api, verb)
        with short_limits(monkeypatch, is_long=is_long):
            proxy.break_(mode, after=chance.choice([0, 0, 1, 2, 3, 4, 6, 8]))
            began = time.monotonic()
            answer = send()
            assert time.monotonic() - began < ANSWER_LIMIT
            assert_is_sensible(answer)
            proxy.break_(mode)
            read = api.get("/api/projects")
            assert read.status_code == 200
        proxy.heal()
        assert_mended(api, docker_instance)


def command(api: APIClient, verb: str) -> Callable[[], Any]:
    if verb == "deploy":
        return lambda: api.post("/api/projects", STUB_PROJECT)
    path = f"/api/projects/{create_project(api, STUB_PROJECT).id}"
    if verb == "delete":
        return lambda: api.delete(path)
    if verb == "start":
        assert api.post(f"{path}/control", {"action": "stop"}).status_code == 200
    return lambda: api.post(f"{path}/control", {"action": verb})


def assert_is_sensible(answer: Any) -> None:
    assert answer.status_code in {200, 201, 202, 204, 409, 502, 503}, answer.content
    if answer.status_code >= 400:
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] in {"engine_unavailable", "engine_error", "superseded"}, answer.json()


def assert_mended(api: APIClient, docker_instance: DockerInstance) -> None:
    """After some rounds: the breaker has to notice first, and half-done work on the engine has to end."""
    failures: list[Exception] = []

    def is_mended() -> bool:
        try:
            rounds.reconcile()
            assert_true(api, docker_instance)
        except (EngineUnavailableError, AssertionError) as error:
            failures.append(error)
            return False
        return True

    wait_until(is_mended, within=HEALING_LIMIT, what=lambda: repr(failures[-1]), every=0.2)


def assert_true(api: APIClient, docker_instance: DockerInstance) -> None:
    rows = list(Project.objects.values("id", "desired", "operation", "failure_code"))
    statuses = {project["id"]: project["status"] for project in api.get("/api/projects").json()}
    assert_consistent(rows, statuses, docker_instance)
