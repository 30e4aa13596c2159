"""The engine itself ends, gently or not, and comes back: a private one, in a network namespace of its own.

Needs root, `unshare` and `dockerd`. The usual engine is not touched.
"""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from rest_framework.test import APIClient

from projects.models import Event, Project
from projects.watcher.watcher import Watcher
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.private_engine import PrivateEngine
from tests.chaos.stub import STUB_PROJECT
from tests.deploying import create_project
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

MENDED_WITHIN = 35.0
MANY = 12


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateEngine]:
    # A Unix socket's path has to be short.
    engine = PrivateEngine(Path(mkdtemp(prefix="bd-")))
    try:
        engine.start()
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="module")
def docker_instance(private: PrivateEngine) -> Iterator[DockerInstance]:
    made = DockerInstance(private.url)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_engine_that_ends_and_comes_back(
    how: signal.Signals,
    private: PrivateEngine,
    docker_instance: DockerInstance,
    real_engine: Callable[[str], None],
    api: APIClient,
    watcher: Callable[[], Watcher],
) -> None:
    """One that is told to end takes its agents down one after the other, and answers the watcher meanwhile: half of
    them were told to have ended by themselves, and some were not started again for good."""
    real_engine(private.url)
    ups = [f"up {each}" for each in range(MANY)]
    for name in ups:
        create_project(api, STUB_PROJECT | {"name": name})
    down = create_project(api, STUB_PROJECT | {"name": "down"}).id
    assert api.post(f"/api/projects/{down}/control", {"action": "stop"}).status_code == 200

    def statuses() -> dict[str, str]:
        return {project["name"]: project["status"] for project in api.get("/api/projects").json()}

    watcher()
    for _ in range(3):
        wait_until(lambda: statuses() == dict.fromkeys(ups, "running") | {"down": "stopped"}, within=MENDED_WITHIN)
        private.end(how)
        wait_until(lambda: set(statuses().values()) == {"unknown"}, within=MENDED_WITHIN)
        assert api.post(f"/api/projects/{down}/control", {"action": "start"}).status_code == 503
        private.start()
        wait_until(lambda: statuses() == dict.fromkeys(ups, "running") | {"down": "stopped"}, within=MENDED_WITHIN)
        states = docker_instance.containers()
        assert sorted(states.values()) == ["exited"] + ["running"] * MANY
    assert not Event.objects.filter(action="crash").exists()
    assert not Project.objects.exclude(failure_code="").exists()
