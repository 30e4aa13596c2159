"""A start with another database, on a real engine and with the watcher running: nothing is lost."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings
from rest_framework.test import APIClient

from containers.identity import forget_installation_id, former_name
from containers.vocabulary import INSTALLATION_LABEL, INSTANCE_LABEL, PROJECT_LABEL
from projects.models import Event, Installation, Project, Quarantined, Watch
from projects.services import container_spec
from projects.watcher import orphans
from projects.watcher.watcher import Watcher
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.server import Server, Site
from tests.chaos.stub import STUB_PROJECT
from tests.deploying import create_project
from tests.paths import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200), pytest.mark.django_db(transaction=True)]

WITHIN = 35.0
ROUNDS = 4


def photograph(docker_instance: DockerInstance) -> Any:
    """Everything that the engine has of this instance: ids, states, starts, and volumes."""
    chosen = {"label": [f"{INSTANCE_LABEL}={docker_instance.name}"]}
    found = [
        docker_instance.client.inspect_container(each)
        for each in docker_instance.client.containers(all=True, filters=chosen)
    ]
    containers = {each["Id"]: (each["Name"], each["State"]["Status"], each["State"]["StartedAt"]) for each in found}
    return containers, docker_instance.volumes()


@pytest.fixture
def api(
    real_engine: Callable[[str], None], api: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> APIClient:
    real_engine("")
    monkeypatch.setattr(orphans, "ORPHAN_AGE", timedelta(0))
    monkeypatch.setattr("projects.watcher.watcher.LOOK_EVERY", 0.2)
    monkeypatch.setattr("projects.watcher.watcher.VOLUMES_EVERY", 0.2)
    return api


def wait_for_rounds(count: int = ROUNDS) -> None:
    """Until the watcher has looked that often."""

    def beat() -> Any:
        return Watch.objects.values_list("heartbeat_at", flat=True).first()

    beats = {beat()}
    while len(beats) <= count:
        wait_until(lambda: beat() not in beats, within=WITHIN)
        beats.add(beat())


def lose_everything() -> None:
    Project.objects.all().delete()
    Event.objects.all()._raw_delete("default")


def test_a_database_with_another_id_touches_nothing(
    api: APIClient, docker_instance: DockerInstance, watcher: Callable[[], Watcher], settings: Settings
) -> None:
    """A second checkout, or a mistyped data directory."""
    create_project(api, STUB_PROJECT)
    before = photograph(docker_instance)
    lose_everything()
    settings.BERTH_INSTALLATION_SOURCE = "tests.installations.theirs"
    forget_installation_id()
    watcher()
    wait_for_rounds()
    assert photograph(docker_instance) == before
    assert not Quarantined.objects.exists()
    # It is an installation of its own, on a network of its own.
    mine = create_project(api, STUB_PROJECT)
    wait_until(lambda: api.get(f"/api/projects/{mine.id}").json()["status"] == "running", within=WITHIN)
    assert api.delete(f"/api/projects/{mine.id}").status_code == 204
    assert photograph(docker_instance) == before


def test_an_older_backup_mends_nothing_until_it_is_adopted(
    api: APIClient, docker_instance: DockerInstance, watcher: Callable[[], Watcher]
) -> None:
    known = create_project(api, STUB_PROJECT)
    lost = create_project(api, STUB_PROJECT | {"name": "Made after the backup"})
    for _ in range(2):
        assert api.post(f"/api/projects/{known.id}/control", {"action": "restart"}).status_code == 200
    # The backup has one project of the two, and of that the first deploy, when it was to be stopped.
    Project.objects.filter(pk=lost.pk).delete()
    Event.objects.filter(project_id=lost.pk)._raw_delete("default")
    Project.objects.filter(pk=known.pk).update(generation=1, desired="stopped")
    before = photograph(docker_instance)
    watcher()
    wait_for_rounds()
    assert photograph(docker_instance) == before
    assert "manage.py adopt" in Installation.objects.get().held_because

    call_command("adopt", "--yes", stdout=StringIO())
    wait_until(lambda: docker_instance.states() == {str(known.pk): "exited", str(lost.pk): "created"}, within=WITHIN)
    assert Project.objects.get().generation > 3  # taken over, and then stopped as wanted
    assert Quarantined.objects.get().key == str(lost.pk)
    wait_until(
        lambda: {volume.rpartition("-")[2] for volume in volumes_of(docker_instance, lost)} == {"data"}, within=WITHIN
    )
    assert len(volumes_of(docker_instance, known)) == 2
    wait_until(lambda: Installation.objects.get().held_because == "", within=WITHIN)


def test_what_is_in_quarantine_comes_back_with_its_memory(
    api: APIClient, docker_instance: DockerInstance, watcher: Callable[[], Watcher]
) -> None:
    project = create_project(api, STUB_PROJECT)
    name = docker_instance.name_of(str(project.pk))
    written = docker_instance.client.exec_create(name, ["sh", "-c", "echo remembered > /data/memory"])
    docker_instance.client.exec_start(written)
    Project.objects.all().delete()
    watcher()
    wait_until(lambda: docker_instance.states() == {str(project.pk): "created"}, within=WITHIN)
    wait_until(lambda: {each.rpartition("-")[2] for each in docker_instance.volumes()} == {"data"}, within=WITHIN)
    before = photograph(docker_instance)
    wait_for_rounds()
    assert photograph(docker_instance) == before
    wait_until(Quarantined.objects.exists, within=WITHIN)

    call_command("quarantine", "adopt", str(project.pk), "--plan", "chaos", "--type", "stub", stdout=StringIO())
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "start"}).status_code == 200
    wait_until(lambda: api.get(f"/api/projects/{project.pk}").json()["status"] == "running", within=WITHIN)
    name = docker_instance.name_of(str(project.pk))
    made = docker_instance.client.exec_create(name, ["cat", "/data/memory"])
    assert docker_instance.client.exec_start(made).decode().strip() == "remembered"


def test_an_upgrade_from_the_time_before_ids_disturbs_no_agent(
    api: APIClient,
    docker_instance: DockerInstance,
    watcher: Callable[[], Watcher],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    label = container_spec.labels_of
    with monkeypatch.context() as before_ids:
        before_ids.setattr("projects.models.project.container_name", former_name)
        before_ids.setattr(
            container_spec,
            "labels_of",
            lambda project: {name: value for name, value in label(project).items() if name != INSTALLATION_LABEL},
        )
        project = create_project(api, STUB_PROJECT)
    before = photograph(docker_instance)
    watcher()
    wait_for_rounds()
    assert photograph(docker_instance) == before
    assert Installation.objects.filter(held_because="").exists()
    assert docker_instance.name_of(str(project.pk)) == former_name(str(project.pk))

    assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).status_code == 200
    [labels] = [
        each["Labels"]
        for each in docker_instance.client.containers(all=True, filters={"label": [f"{PROJECT_LABEL}={project.pk}"]})
    ]
    assert labels[INSTALLATION_LABEL]
    assert str(project.pk) not in docker_instance.name_of(str(project.pk))
    data = {volume for volume in docker_instance.volumes() if volume.endswith("-data")}
    assert data == {f"{former_name(str(project.pk))}-data"}
    wait_for_rounds()
    assert docker_instance.states() == {str(project.pk): "running"}
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    assert photograph(docker_instance) == ({}, set())


def volumes_of(docker_instance: DockerInstance, project: Project) -> set[str]:
    chosen = {"label": [f"{INSTANCE_LABEL}={docker_instance.name}", f"{PROJECT_LABEL}={project.pk}"]}
    return {each["Name"] for each in docker_instance.client.volumes(filters=chosen)["Volumes"] or []}


@pytest.fixture
def second_site(docker_instance: DockerInstance, tmp_path: Path) -> Iterator[Site]:
    """Another data directory, and so another database, with the same BERTH_INSTANCE."""
    made = Site(tmp_path, docker_instance)
    try:
        yield made
    finally:
        made.close()


def test_a_second_data_directory_leaves_the_agents_of_the_first_alone(
    server: Server, second_site: Site, docker_instance: DockerInstance
) -> None:
    project = server.create().json["id"]
    before = photograph(docker_instance)
    second = second_site.serve()
    for _ in range(2):
        told = second.reconcile()
        assert (told["repaired"], told["failed"]) == ([], [])
    rounds = [sys.executable, "manage.py", "reconcile"]
    subprocess.run(rounds, cwd=ROOT, env=second_site.environment, check=True, capture_output=True, timeout=120)
    assert photograph(docker_instance) == before
    # Both have agents now, and each deletes its own only.
    theirs = second.create().json["id"]
    assert server.reconcile()["repaired"] == []
    assert second.delete(theirs).status == 204
    assert photograph(docker_instance) == before
    assert server.control(project, "restart").status == 200
    assert server.delete(project).status == 204
    assert photograph(docker_instance) == ({}, set())
