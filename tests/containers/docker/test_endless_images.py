"""An image whose configuration is longer than an answer may be says nothing about the engine."""

import json

import pytest

from containers.docker.engine import DockerEngine
from containers.errors import ImageUnusableError
from tests.containers.docker.scripted_engine import SPEC
from tests.fakes.docker_socket import FaultySocket

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

ENDLESS = json.dumps({"Id": "sha256:" + "1" * 64, "Config": {"Labels": {"a": "x" * 9_000_000}}}).encode()


def test_an_endless_configuration_is_refused_and_delays_no_other_call(daemon: FaultySocket) -> None:
    daemon.script[f"GET /images/{SPEC.image}/json"] = [("answer", 200, ENDLESS)]
    engine = DockerEngine()
    for _ in range(20):
        with pytest.raises(ImageUnusableError, match="takes megabytes"):
            engine.deploy(SPEC, confirm=lambda: True)
        with pytest.raises(ImageUnusableError):
            engine.describe_image(SPEC.image)
        assert engine.observe({}) == [], "The engine is not taken for one that is silent."
    assert not [request for request in daemon.requests if request.startswith("POST /v1.41/containers/create")]
