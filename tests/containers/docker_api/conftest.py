"""An engine that behaves as a test says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.docker_api import client
from tests.containers.docker_api.calling import GUARD, LIMIT
from tests.fakes.docker_socket import FaultySocket, faulty_socket


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    """It has enough time for its answers, no matter how busy this machine is."""
    monkeypatch.setattr(client, "CALL_LIMIT", GUARD)
    with faulty_socket(tmp_path) as server:
        monkeypatch.setenv("DOCKER_HOST", server.url)
        yield server


@pytest.fixture
def short_limit(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    """For calls that get no answer, or never a complete one."""
    monkeypatch.setattr(client, "CALL_LIMIT", LIMIT)
