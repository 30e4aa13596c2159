"""A scripted engine on a socket of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.docker_api import client
from tests.containers.docker.scripted_engine import working_script
from tests.fakes.docker_socket import FaultySocket, faulty_socket


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    """An engine on which everything works, with no container yet."""
    monkeypatch.setattr(client, "CALL_LIMIT", 2.0)
    with faulty_socket(tmp_path) as server:
        monkeypatch.setenv("DOCKER_HOST", server.url)
        server.script = working_script()
        yield server
