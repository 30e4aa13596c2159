"""Agents of hostile images on a real engine, created over the API, and a quiet neighbour beside them."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from projects.models import AgentType, Plan
from projects.watcher.reconcile.full import reconcile
from tests.busybox import pack_root
from tests.chaos.inside.prepare import add_offers
from tests.containers.conftest import docker_installation, docker_under_test  # noqa: F401 - fixtures
from tests.containers.docker_under_test import DockerUnderTest
from tests.waiting import wait_until

APPLETS = ("sh", "cat", "false", "dd", "echo", "ls", "sleep", "test", "touch", "id", "env", "find", "chmod", "chown")
WAITS = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1000 & wait $!; done\n"


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

    def deploy(self, image: str) -> Any:
        AgentType.objects.filter(pk="stub").update(image=image)
        body = {"name": f"Odd {uuid4().hex[:8]}", "type": "stub", "plan": "chaos"}
        return self.api.post("/api/projects", body)

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
