"""The gateway's image on a real engine, where `manage.py build_images` has not built it before the tests."""

from io import StringIO

import docker
from django.core.management import call_command

from containers.docker_api.building.image_build import GATEWAY


def ensure_gateway_image(client: docker.APIClient) -> None:
    """Builds it where it is missing or older than its files. It takes twenty seconds the first time."""
    call_command("build_images", GATEWAY.type, "--no-pull", stdout=StringIO())
    assert client.images(GATEWAY.image)
