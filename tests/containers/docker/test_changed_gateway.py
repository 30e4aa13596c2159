"""Changes of the gateway's container past Berth: the next check repairs them, or copes with them."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.conf import settings

from containers.gateway.protocol import GatewayClient, Standing
from containers.gateway.vocabulary import GatewaySpec
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.gateway.image import ensure_gateway_image
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.one_database, pytest.mark.django_db]


def test_busy_agents_cannot_starve_the_gateway(docker_under_test: DockerUnderTest) -> None:
    engine, client = docker_under_test.engine, docker_under_test.client
    ensure_gateway_image(client)
    agent = deploy(docker_under_test)
    try:
        engine.ensure_gateway(GatewaySpec(key=Fernet.generate_key().decode()))
        [gateway] = docker_under_test.gateways()
        weights = [client.inspect_container(each)["HostConfig"]["CpuShares"] for each in (gateway, agent.container_id)]
        assert weights == [4096, 0], "The kernel's default, 1024, is written as 0."
    finally:
        engine.remove_gateway(state=True)


def test_a_paused_or_renamed_gateway_continues_with_its_entries(docker_under_test: DockerUnderTest) -> None:
    engine, client = docker_under_test.engine, docker_under_test.client
    ensure_gateway_image(client)
    spec = GatewaySpec(key=Fernet.generate_key().decode())
    told = GatewayClient(engine.gateway(), within=100.0)
    try:
        engine.ensure_gateway(spec)
        told.apply(version=3, void=["one"])
        for change in ("pause", "rename"):
            [container] = docker_under_test.gateways()
            if change == "pause":
                client.pause(container)
            else:
                client.rename(container, f"{settings.BERTH_INSTANCE}-another-name")
            engine.ensure_gateway(spec)
            assert told.versions() == {"one": Standing(3, is_void=True)}
            assert len(docker_under_test.gateways()) == 1
    finally:
        engine.remove_gateway(state=True)


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "at work"])
def test_a_gateway_without_its_volumes_is_recreated(docker_under_test: DockerUnderTest, *, ends: bool) -> None:
    """Someone has removed them from the engine's disk, which no engine allows: no start of it succeeds any more."""
    engine, client = docker_under_test.engine, docker_under_test.client
    ensure_gateway_image(client)
    spec = GatewaySpec(key=Fernet.generate_key().decode())
    try:
        engine.ensure_gateway(spec)
        [container] = docker_under_test.gateways()
        found = client.inspect_container(container)
        paths = [Path(each["Source"]) for each in found["Mounts"] if each["Type"] == "volume"]
        if not all(path.is_dir() for path in paths):
            pytest.skip("The engine's disk is elsewhere.")
        for path in paths:
            shutil.rmtree(path)
        assert GatewayClient(engine.gateway(), within=100.0).ping()
        if ends:
            os.kill(found["State"]["Pid"], signal.SIGKILL)
            wait_until(lambda: client.inspect_container(container)["State"]["Status"] == "exited", within=100)
        engine._gateway._volumes_again_at = 0.0  # it is time to look
        engine.ensure_gateway(spec)
        told = GatewayClient(engine.gateway(), within=100.0)
        told.apply(version=3, void=["one"])
        assert told.versions() == {"one": Standing(3, is_void=True)}
        assert len(docker_under_test.gateways()) == 1
    finally:
        engine.remove_gateway(state=True)
