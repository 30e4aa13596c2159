"""The disk of a separate engine is full while an agent ends, which no list shows, or while its image is updated.

Needs root, `unshare` and `dockerd`. The usual engine is not touched.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineUnavailableError
from projects.models import AgentType, Event, Project
from projects.watcher.reconcile import spot_checks
from projects.watcher.reconcile.full import reconcile
from projects.watcher.watcher import Watcher
from tests.busybox import pack_root
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.private_engine import PrivateEngine
from tests.chaos.stub import APPLETS, SCRIPT, STUB_PROJECT
from tests.deploying import create_project
from tests.projects.images.updating import told
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True),
    pytest.mark.one_database,
    pytest.mark.skipif(os.geteuid() != 0, reason="Only root may make a network and mount a disk."),
]

SPOILS = "#!/bin/sh\nrm /data/large\necho spoiled >/data/note\nexit 40\n"
"""An image that deletes its agent's state, and ends."""
LEAVE_2_MB = "dd if=/dev/zero of=filling bs=1k count=$(($(df -k . | awk 'END { print $4 }') - 2048))"

HEALTH_CHECK = 'HEALTHCHECK --interval=1s CMD ["/bin/test", "-e", "/agent"]'
"""A list is enough only for a healthy container."""


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateEngine]:
    # The path of a Unix socket must be short.
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


def do_on_its_disk(engine: PrivateEngine, script: str) -> str:
    """Returns the script's output. Only the engine's namespace has the disk."""
    enter = ["nsenter", f"--mount=/proc/{engine.pid}/ns/mnt", "sh", "-c"]
    done = subprocess.run([*enter, f"cd {engine.home}/data && {script}"], check=False, capture_output=True, text=True)
    return done.stdout


def test_an_agent_that_ended_on_a_full_disk_is_restarted_although_the_list_shows_it_running(
    private: PrivateEngine,
    docker_instance: DockerInstance,
    real_engine: Callable[[str], None],
    api: APIClient,
    watcher: Callable[[], Watcher],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spot_checks, "EVERY", 0.2)
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


def test_an_agent_whose_endpoint_the_engine_kept_on_a_read_only_disk_is_started_again(
    private: PrivateEngine, docker_instance: DockerInstance, real_engine: Callable[[str], None], api: APIClient
) -> None:
    """Docker refuses each start of a container of that name,
    and keeps the endpoint no matter how it is disconnected."""
    real_engine(private.url)
    project = create_project(api, STUB_PROJECT | {"name": "kept", "telegramToken": "777:another-bot"})
    path, data = f"/api/projects/{project.pk}/control", str(private.home / "data")
    private.run("mount", "--bind", data, data)
    try:
        private.run("mount", "-o", "remount,bind,ro", data)
        docker_instance.client.stop(docker_instance.name_of(str(project.pk)), timeout=0)
    finally:
        private.run("umount", "--lazy", data)
    answer = api.post(path, {"action": "start"})
    assert answer.status_code == 200, answer.content
    facts = docker_instance.client.inspect_container(docker_instance.name_of(str(project.pk)))
    assert facts["State"]["Running"]
    [network] = facts["NetworkSettings"]["Networks"]
    assert list(docker_instance.client.inspect_network(network)["Containers"]) == [facts["Id"]]


@pytest.mark.rare(3)
def test_an_update_on_a_full_disk_is_undone_and_the_agent_s_memory_stays_whole(
    private: PrivateEngine,
    docker_instance: DockerInstance,
    real_engine: Callable[[str], None],
    api: APIClient,
) -> None:
    """First the disk is full in the middle of the copy, then in the middle of the way back,
    until there is room again."""
    real_engine(private.url)
    project = create_project(api, STUB_PROJECT | {"name": "kept", "telegramToken": "555:another-bot"})
    container = docker_instance.name_of(str(project.pk))
    old, volumes = Project.objects.get(pk=project.pk).image_id, f"volumes/{container}"
    do_on_its_disk(private, f"cd {volumes}-data/_data && echo precious >note && dd if=/dev/zero of=large bs=1M count=8")
    repository, tag = docker_instance.image.split(":")[0], f"spoils-{docker_instance.name}"
    root = pack_root({"agent": SPOILS}, applets=("sh", "rm", "echo"))
    docker_instance.client.import_image_from_data(root, repository=repository, tag=tag, changes=['CMD ["/agent"]'])
    AgentType.objects.filter(pk="stub").update(image=f"{repository}:{tag}")

    def look_until(outcome: str, *, times: int = 20) -> None:
        for _ in range(times):
            Project.objects.update(
                reconcile_again_at=timezone.now()
            )  # it pauses after failures that concern all projects, and there is only one
            with suppress(EngineUnavailableError):  # where all projects fail, which is the one that there is
                reconcile()
            if told(project)[-1] == outcome:
                return
        raise AssertionError(told(project))

    def is_as_before() -> bool:
        kept = do_on_its_disk(private, f"cat {volumes}-data/_data/note; wc -c <{volumes}-data/_data/large; ls volumes")
        facts = docker_instance.client.inspect_container(container)
        return (facts["Image"], facts["State"]["Running"], kept.split()[:2], "-former" in kept) == (
            old, True, ["precious", str(8 << 20)], False,
        )  # fmt: skip

    do_on_its_disk(private, LEAVE_2_MB)
    assert api.post(f"/api/projects/{project.pk}/update").status_code == 202
    look_until("undone")
    assert "no space left" in Event.objects.get(project_id=project.pk, outcome="given up").detail.lower()
    assert is_as_before()
    do_on_its_disk(private, "rm filling")
    assert api.post(f"/api/projects/{project.pk}/update").status_code == 202
    look_until("started")
    wait_until(lambda: not docker_instance.client.inspect_container(container)["State"]["Running"], within=60)
    do_on_its_disk(private, LEAVE_2_MB)
    with pytest.raises(AssertionError, match="given up"):
        look_until("undone", times=3)
    assert "-former" in do_on_its_disk(private, "ls volumes")
    do_on_its_disk(private, "rm filling")
    look_until("undone")
    assert is_as_before()
