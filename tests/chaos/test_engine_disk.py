"""An agent ends while the disk of a private engine is full, and the engine's list goes on to call it well.

Needs root, `unshare` and `dockerd`. The usual engine is not touched.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from rest_framework.test import APIClient

from projects.models import Event
from projects.watcher import second_looks
from projects.watcher.watcher import Watcher
from tests.busybox import pack_root
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.private_engine import PrivateEngine
from tests.chaos.stub import APPLETS, SCRIPT, STUB_PROJECT
from tests.deploying import create_project
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True),
    pytest.mark.one_database,
    pytest.mark.skipif(os.geteuid() != 0, reason="Only root may make a network and mount a disk."),
]

HEALTH_CHECK = 'HEALTHCHECK --interval=1s CMD ["/bin/test", "-e", "/agent"]'
"""A list says enough only of a container that is healthy."""


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateEngine]:
    # A Unix socket's path has to be short.
    engine = PrivateEngine(Path(mkdtemp(prefix="bd-")))
    (engine.home / "data").mkdir()
    try:
        engine.start(first=f"mount -t tmpfs -o size=60m none {engine.home}/data")
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="module")
def docker_instance(private: PrivateEngine) -> Iterator[DockerInstance]:
    made = DockerInstance(private.url)
    repository, tag = made.image.split(":")
    changes = ['CMD ["/agent"]', "ENV PATH=/bin", HEALTH_CHECK]
    root = pack_root({"agent": SCRIPT}, applets=APPLETS)
    made.client.import_image_from_data(root, repository=repository, tag=tag, changes=changes)
    try:
        yield made
    finally:
        made.close()


def do_on_its_disk(engine: PrivateEngine, script: str) -> None:
    """The disk is mounted for the engine alone."""
    enter = ["nsenter", f"--mount=/proc/{engine.pid}/ns/mnt", "sh", "-c"]
    subprocess.run([*enter, f"cd {engine.home}/data && {script}"], check=False, capture_output=True)


def test_an_agent_that_ended_then_is_seen_and_brought_back_though_the_list_calls_it_well(
    private: PrivateEngine,
    docker_instance: DockerInstance,
    real_engine: Callable[[str], None],
    api: APIClient,
    watcher: Callable[[], Watcher],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(second_looks, "EVERY", 0.2)
    real_engine(private.url)
    project = create_project(api, STUB_PROJECT | {"name": "up"})
    container = docker_instance.name_of(str(project.pk))

    def listed() -> str:
        [found] = docker_instance.client.containers(all=True, filters={"name": container})
        return str(found["Status"])

    wait_until(lambda: listed().endswith("(healthy)"), within=60)
    do_on_its_disk(private, "dd if=/dev/zero of=filling bs=4k")
    os.kill(docker_instance.client.inspect_container(container)["State"]["Pid"], signal.SIGKILL)
    wait_until(lambda: docker_instance.client.inspect_container(container)["State"]["Status"] == "exited", within=60)
    do_on_its_disk(private, "rm filling")
    assert listed().endswith("(healthy)")
    watcher()
    wait_until(lambda: Event.objects.filter(project_id=project.pk, action="crash").exists(), within=60)
    wait_until(lambda: docker_instance.client.inspect_container(container)["State"]["Running"], within=60)
    wait_until(lambda: api.get(f"/api/projects/{project.pk}").json()["status"] == "running", within=60)
