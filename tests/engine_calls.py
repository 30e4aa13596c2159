"""Notes what Docker is asked for."""

import re
from typing import Any

import pytest
import requests

from containers.docker_api.client import DockerClient

_NAMES = re.compile(r"^t-|[0-9a-f]{20}|:|^berth-test$")
"""Of containers, volumes and images."""


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
