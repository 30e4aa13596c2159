"""An engine that is upgraded or downgraded under a running process: another version of its API."""

import pytest

from containers.docker.engine import DockerEngine
from containers.docker_api import client
from tests.containers.docker_api.calling import GUARD
from tests.fakes.docker_socket import FaultySocket

WORDS = {
    "1.51": b"client version 1.41 is too old. Minimum supported API version is 1.44, please upgrade your client",
    "1.40": b"client version 1.41 is too new. Maximum supported API version is 1.40",
}


@pytest.mark.parametrize("other", WORDS)
def test_the_next_call_speaks_the_version_of_the_engine(
    daemon: FaultySocket, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CALL_LIMIT", GUARD)
    daemon.body = b"[]"
    engine = DockerEngine()
    assert engine.observe({}) == []
    daemon.api = other
    refused = ("answer", 400, b'{"message": "%s"}' % WORDS[other])
    daemon.script["GET /containers/json"] = [refused, ("answer", 200, b"[]")]
    assert engine.observe({}) == []
    assert engine.observe({}) == []
    lists = [request.split()[1].partition("/containers")[0] for request in daemon.requests if "/json" in request]
    assert lists == ["/v1.41", "/v1.41", f"/v{other}", f"/v{other}"]
    assert len([request for request in daemon.requests if "/version" in request]) == 2
