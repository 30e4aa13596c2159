"""Ends the gateway's engine, and checks that the gateway recovers. Requires a separate engine.

python -m pytest tests/gateway/long/engine_restarts.py
"""

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import docker
import pytest
from cryptography.fernet import Fernet
from django.test import override_settings

from containers.docker.engine import DockerEngine
from containers.docker_api.building.image_build import GATEWAY
from containers.errors import EngineError, EngineUnavailableError
from containers.gateway.protocol import GatewayClient, Standing
from containers.gateway.vocabulary import GatewaySpec
from containers.vocabulary import ContainerState
from tests.chaos.private_engine import PrivateEngine
from tests.engines import connect
from tests.gateway.image import ensure_gateway_image
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="there is no dockerd for an engine of its own"),
]

PATIENCE = 100.0


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateEngine]:
    """Starts a separate engine with the gateway's image."""
    usual = connect()
    engine = PrivateEngine(Path(mkdtemp(prefix="bg-")))
    try:
        ensure_gateway_image(usual)
        engine.start()
        with_image = docker.APIClient(base_url=engine.url, version="auto", timeout=120)
        load: Any = with_image.load_image
        list(load(usual.get_image(GATEWAY.image)))
        with_image.close()
        yield engine
    finally:
        usual.close()
        engine.close()


@contextmanager
def engine_at(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerEngine]:
    monkeypatch.setenv("DOCKER_HOST", address)
    with override_settings(BERTH_INSTANCE="gwp", BERTH_CONTAINER_NETWORK="gwp-agents"):
        yield DockerEngine()


@pytest.fixture(scope="module")
def spec() -> GatewaySpec:
    return GatewaySpec(key=Fernet.generate_key().decode())


def test_the_gateway_returns_with_its_engine_and_keeps_its_entries(
    private: PrivateEngine, spec: GatewaySpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine_at(private.url, monkeypatch) as engine:
        engine.ensure_gateway(spec)
        client = GatewayClient(engine.gateway(), within=PATIENCE)
        client.apply(version=5, void=["one"])
        before = engine.inspect_gateway()
        private.end(signal.SIGTERM)
        with pytest.raises(EngineUnavailableError):
            client.versions()
        private.start()

        def is_back() -> bool:
            try:
                return client.versions()["one"] == Standing(5, is_void=True)
            except EngineError:
                return False

        wait_until(is_back, within=PATIENCE, every=0.1)
        after = engine.inspect_gateway()
        assert before
        assert after
        assert after.container_id == before.container_id
        assert after.state is ContainerState.RUNNING
        engine.ensure_gateway(spec)
        now = engine.inspect_gateway()
        assert now
        assert now.container_id == before.container_id
        engine.remove_gateway(state=True)
