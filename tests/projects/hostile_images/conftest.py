"""Agents of hostile images on a real engine, created over the API, and a quiet neighbour beside them."""

import io
import tarfile
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from projects.rules.type_trial import Verdict
from projects.services.images.type_trial import try_type
from projects.watcher.reconcile.full import reconcile
from tests.busybox import pack_root
from tests.chaos.inside.prepare import add_offers
from tests.containers.conftest import docker_installation, docker_under_test  # noqa: F401 - fixtures
from tests.containers.docker_under_test import DockerUnderTest
from tests.gateway.image import ensure_gateway_image
from tests.waiting import wait_until

APPLETS = ("sh", "cat", "false", "dd", "echo", "ls", "sleep", "test", "touch", "id", "env", "find", "chmod", "chown")
WAITS = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1000 & wait $!; done\n"


def with_entry(name: str, kind: bytes, link: str = "") -> bytes:
    """Returns the usual root file system with another entry of this name."""
    made = io.BytesIO()
    packed = io.BytesIO(pack_root({"agent": WAITS}, applets=APPLETS))
    with tarfile.open(fileobj=packed) as usual, tarfile.open(fileobj=made, mode="w") as archive:
        for member in usual.getmembers():
            if not f"{member.name}/".startswith(f"{name}/"):
                archive.addfile(member, usual.extractfile(member) if member.isfile() else None)
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname, entry.mode = kind, link, 0o777
        archive.addfile(entry, io.BytesIO())
    return made.getvalue()


class Host:
    """An installation on a real engine. `deploy` answers as the API does."""

    def __init__(self, api: APIClient, engine: DockerUnderTest) -> None:
        self.api = api
        self.engine = engine
        self.images: list[str] = []
        add_offers(AgentType, Plan, engine.image)

    def make(self, *changes: str, agent: str = WAITS, root: bytes | None = None) -> str:
        image = f"berth-test/hostile:{uuid4().hex[:8]}"
        repository, _, tag = image.partition(":")
        packed = root or pack_root({"agent": agent}, applets=APPLETS)
        self.engine.client.import_image_from_data(
            packed, repository=repository, tag=tag, changes=[*(changes or ['CMD ["/agent"]']), "ENV PATH=/bin"]
        )
        self.images.append(image)
        return image

    def make_with(self, image: str, **config: Any) -> str:
        """Returns an image with the files of this one and another configuration."""
        client, tag = self.engine.client, uuid4().hex[:8]
        made = client.create_container(image)["Id"]
        try:
            where = {"container": made, "repo": "berth-test/hostile", "tag": tag}
            client._result(client._post_json(client._url("/commit"), data=config, params=where))
        finally:
            client.remove_container(made)
        self.images.append(f"berth-test/hostile:{tag}")
        return self.images[-1]

    def deploy(self, image: str) -> Any:
        AgentType.objects.filter(pk="stub").update(image=image)
        body = {"name": f"Odd {uuid4().hex[:8]}", "type": "stub", "plan": "chaos"}
        return self.api.post("/api/projects", body)

    def name_of(self, project: str) -> str:
        return Project.objects.get(pk=project).container_name

    def status_of(self, project: str) -> str:
        return str(self.api.get(f"/api/projects/{project}").json()["status"])

    def await_running(self, *projects: str) -> None:
        def look() -> bool:
            reconcile()
            return all(self.status_of(project) == "running" for project in projects)

        wait_until(look, within=60)

    def try_image(self, image: str) -> dict[str, str]:
        """The promises that the image breaks in a trial, and why."""
        agent_type = AgentType.objects.get(pk="stub")
        agent_type.image = image
        ensure_gateway_image(self.engine.client)  # it has Python, which the servers of a trial need
        lines = try_type(agent_type=agent_type, within=1.0)
        return {line.promise: line.detail for line in lines if line.verdict is Verdict.BROKEN}

    def await_reason(self, project: str, told: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            reconcile()
            reason: dict[str, Any] = self.api.get(f"/api/projects/{project}").json()["status_reason"] or {}
            return reason if reason and told(reason) else None

        return wait_until(look, within=60)


@pytest.fixture
def host(
    api: APIClient,
    docker_under_test: DockerUnderTest,  # noqa: F811 - the fixture
    settings: Any,
) -> Iterator[Host]:
    settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
    host = Host(api, docker_under_test)
    yield host
    docker_under_test.clean_up()
    for image in host.images:
        docker_under_test.client.remove_image(image, force=True)
