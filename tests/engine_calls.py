"""Records the requests to Docker, and how many rows its lists have."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from containers.docker_api.client import DockerClient

_NAMES = re.compile(r"^t-|[0-9a-f]{20}|:|^berth-test$")
"""Names of containers, volumes and images."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests to the engine, such as `POST start`."""
    asked: list[str] = []
    request = DockerClient.request

    def noted(client: DockerClient, method: str, url: str, *args: Any, **options: Any) -> Any:
        path = urlsplit(url).path.split("/")[2:]
        asked.append(" ".join([method, *(part for part in path if not _NAMES.search(part))]))
        return request(client, method, url, *args, **options)

    monkeypatch.setattr(DockerClient, "request", noted)
    return asked


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The lists of containers and volumes that the engine returned: which, and how many rows."""
    listed: list[tuple[str, int]] = []
    request = DockerClient.request

    def noted(client: DockerClient, method: str, url: str, *args: Any, **options: Any) -> Any:
        answer = request(client, method, url, *args, **options)
        match urlsplit(url).path.split("/")[2:]:
            case ["containers", "json"]:
                listed.append(("containers", len(answer.json())))
            case ["volumes"] if method == "GET":
                listed.append(("volumes", len(answer.json()["Volumes"] or [])))
        return answer

    monkeypatch.setattr(DockerClient, "request", noted)
    return listed
