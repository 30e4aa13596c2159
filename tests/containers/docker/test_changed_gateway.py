"""What somebody does to the gateway's container past Berth: the next look mends it, or lives with it."""

import pytest
from cryptography.fernet import Fernet
from django.conf import settings

from containers.gateway.protocol import GatewayClient, Standing
from containers.gateway.words import GatewaySpec
from tests.containers.docker_under_test import DockerUnderTest
from tests.gateway.image import ensure_gateway_image

pytestmark = [pytest.mark.docker, pytest.mark.one_database, pytest.mark.django_db]


def test_one_that_was_paused_or_renamed_goes_on_with_what_it_knows(docker_under_test: DockerUnderTest) -> None:
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
