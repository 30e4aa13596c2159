"""How many calls of the engine each verb takes. Each costs milliseconds of every deploy, and more on a busy engine."""

import re
from typing import Any

import pytest
import requests

from containers.docker_api.client import DockerClient
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

_NAMES = re.compile(r"^t-|[0-9a-f]{20}|:|^berth-test$")
"""Of containers, volumes and images."""

pytestmark = [pytest.mark.docker, pytest.mark.one_database, pytest.mark.django_db]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the engine is asked for, such as `POST start`."""
    asked: list[str] = []
    send = DockerClient.send

    def noted(client: DockerClient, request: requests.PreparedRequest, **options: Any) -> Any:
        path = str(request.path_url).partition("?")[0].split("/")[2:]
        asked.append(" ".join([str(request.method), *(part for part in path if not _NAMES.search(part))]))
        return send(client, request, **options)

    monkeypatch.setattr(DockerClient, "send", noted)
    return asked


LOOK = ["GET containers json"]
AT_THE_NAME = ["GET containers json"]
FIREWALL = ["GET networks bridge"]
"""The engine may have been restarted, which takes the rules away."""

VOLUMES = ["GET volumes", "GET volumes"]
"""Those with the agent's labels, and those with its name."""

MAKE = ["POST containers create", "GET containers archive", "PUT containers archive", "POST containers start"]
"""Whose the directory of the state is; the credentials."""


def test_a_deploy(docker_under_test: DockerUnderTest, calls: list[str]) -> None:
    deploy(docker_under_test)
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    calls.clear()  # the first one of a process makes the network
    deploy(docker_under_test)
    assert calls == [*FIREWALL, *LOOK, *AT_THE_NAME, *VOLUMES, *MAKE, "GET containers json"]


def test_another_generation(docker_under_test: DockerUnderTest, calls: list[str]) -> None:
    deploy(docker_under_test)
    docker_under_test.engine.stop(docker_under_test.key, timeout=5)
    calls.clear()
    deploy(docker_under_test, generation=2)
    away = ["GET images json", "DELETE containers"]
    of_before = ["DELETE volumes"]
    expected = [*FIREWALL, *LOOK, *AT_THE_NAME, *away, *VOLUMES, *of_before, *MAKE, "GET containers json"]
    assert calls == expected


def test_the_same_again(docker_under_test: DockerUnderTest, calls: list[str]) -> None:
    deploy(docker_under_test)
    calls.clear()
    deploy(docker_under_test)
    assert calls == [*FIREWALL, *LOOK, "GET containers json", "GET containers json"]


def test_a_stop(docker_under_test: DockerUnderTest, calls: list[str]) -> None:
    deploy(docker_under_test)
    calls.clear()
    docker_under_test.engine.stop(docker_under_test.key, timeout=5)
    assert calls == [*LOOK, "POST containers stop", "GET containers json"]


def test_a_deletion(docker_under_test: DockerUnderTest, calls: list[str]) -> None:
    deploy(docker_under_test)
    calls.clear()
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    assert calls.count("DELETE containers") == 1
    assert calls.count("DELETE volumes") == 2
    assert len(calls) <= 12


def test_a_list_of_agents_that_are_well(docker_under_test: DockerUnderTest, calls: list[str]) -> None:
    docker_under_test.deploy_healthy()
    calls.clear()
    (seen,) = docker_under_test.engine.observe({})
    assert seen.health == "healthy"
    assert calls == LOOK
