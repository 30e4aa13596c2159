"""The engine itself ends, gently or not, and comes back: a separate one, in its own network namespace.

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
    # The path of a Unix socket must be short.
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
    """An engine that is told to end takes its agents down one after another, and answers the watcher meanwhile: none of
    them may look as if it had ended by itself, and all must be started again."""
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
