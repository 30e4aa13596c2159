"""An upgrade from before installations had ids, and a second data directory: every agent keeps running."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from containers.identity import former_name
from containers.vocabulary import INSTALLATION_LABEL, PROJECT_LABEL
from projects.models import Installation
from projects.services import container_spec
from projects.watcher.watcher import Watcher
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.other_databases.databases import photograph, wait_for_rounds
from tests.chaos.server import Server, Site
from tests.chaos.stub import STUB_PROJECT
from tests.deploying import create_project
from tests.paths import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200), pytest.mark.django_db(transaction=True)]


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


@pytest.fixture
def second_site(docker_instance: DockerInstance, tmp_path: Path) -> Iterator[Site]:
    """Another data directory, and so another database, with the same BERTH_INSTANCE."""
    made = Site(tmp_path, docker_instance)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.rare(3)
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
    # Both have agents now, and each deletes only its own.
    theirs = second.create().json["id"]
    assert server.reconcile()["repaired"] == []
    assert second.delete(theirs).status == 204
    assert photograph(docker_instance) == before
    assert server.control(project, "restart").status == 200
    assert server.delete(project).status == 204
    assert photograph(docker_instance) == ({}, set())
