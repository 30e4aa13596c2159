"""On a real engine: a new image that destroys the agent's state and ends is replaced by the old one and the copy."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Event, Plan, Project
from projects.watcher.reconcile.full import reconcile
from tests.busybox import pack_root
from tests.chaos.inside.prepare import add_offers
from tests.containers.conftest import docker_installation, docker_under_test  # noqa: F401 - fixtures
from tests.containers.docker_under_test import DockerUnderTest
from tests.deploying import create_project
from tests.projects.images.updating import told

SPOILS = "#!/bin/sh\necho spoiled >/data/note\necho It gives up.\nexit 40\n"


@pytest.mark.docker
@pytest.mark.one_database
def test_the_old_image_runs_again_with_its_memory(
    api: APIClient,
    docker_under_test: DockerUnderTest,  # noqa: F811 - the fixture
    settings: Any,
) -> None:
    settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
    client, repository = docker_under_test.client, f"berth-test/spoils-{settings.BERTH_INSTANCE}"
    add_offers(AgentType, Plan, docker_under_test.image)
    project = create_project(api, {"name": "Careful", "type": "stub", "plan": "chaos"})
    old = Project.objects.get(pk=project.pk).image_id
    assert old == client.inspect_image(docker_under_test.image)["Id"]
    write = ("sh", "-c", "echo precious >/data/note")
    assert docker_under_test.run(*write, name=project.container_name)[0] == 0
    root = pack_root({"agent": SPOILS}, applets=("sh", "echo"))
    client.import_image_from_data(root, repository=repository, tag="1", changes=['CMD ["/agent"]'])
    try:
        AgentType.objects.filter(pk="stub").update(image=f"{repository}:1")
        assert api.post(f"/api/projects/{project.pk}/update").status_code == 202
        for _ in range(20):
            reconcile()
            if told(project)[-1] == "undone":
                break
    finally:
        client.remove_image(f"{repository}:1", force=True)
    assert told(project) == ["recorded", "started", "given up", "undone"]
    assert "The new image ended" in Event.objects.get(project_id=project.pk, outcome="given up").detail
    assert docker_under_test.is_running(project.container_name)
    assert client.inspect_container(project.container_name)["Image"] == old
    assert docker_under_test.run("cat", "/data/note", name=project.container_name) == (0, "precious\n")
    assert len(docker_under_test.volumes(project.container_name)) == 2
