"""A start with another database, on a real engine and with a running watcher: nothing is lost."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import call_command
from pytest_django import Settings
from rest_framework.test import APIClient

from containers.identity import forget_installation_id
from projects.models import Event, Installation, Project, Quarantined
from projects.watcher.watcher import Watcher
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.other_databases.databases import WITHIN, lose_everything, photograph, volumes_of, wait_for_rounds
from tests.chaos.stub import STUB_PROJECT
from tests.containers.inside import run_inside
from tests.deploying import create_project
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200), pytest.mark.django_db(transaction=True)]


@pytest.mark.rare(3)
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
    # It is a separate installation, with a network of its own.
    mine = create_project(api, STUB_PROJECT)
    wait_until(lambda: api.get(f"/api/projects/{mine.id}").json()["status"] == "running", within=WITHIN)
    assert api.delete(f"/api/projects/{mine.id}").status_code == 204
    assert photograph(docker_instance) == before


@pytest.mark.rare(3)
def test_an_older_backup_repairs_nothing_until_it_is_adopted(
    api: APIClient, docker_instance: DockerInstance, watcher: Callable[[], Watcher]
) -> None:
    known = create_project(api, STUB_PROJECT)
    lost = create_project(api, STUB_PROJECT | {"name": "Made after the backup"})
    for _ in range(2):
        assert api.post(f"/api/projects/{known.id}/control", {"action": "restart"}).status_code == 200
    # The backup has one of the two projects, with its first deploy, when it was about to be stopped.
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


@pytest.mark.rare(3)
def test_a_quarantined_agent_comes_back_with_its_memory(
    api: APIClient, docker_instance: DockerInstance, watcher: Callable[[], Watcher]
) -> None:
    project = create_project(api, STUB_PROJECT)
    name = docker_instance.name_of(str(project.pk))
    run_inside(docker_instance.client, name, "sh", "-c", "echo remembered > /data/memory")
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
    assert run_inside(docker_instance.client, name, "cat", "/data/memory") == (0, "remembered\n")
