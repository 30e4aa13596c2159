"""The gateway's image on a real engine, for tests that run without a preceding `manage.py build_images`."""

from io import StringIO

import docker
from django.core.management import call_command

from containers.docker_api.building.image_build import GATEWAY


def ensure_gateway_image(client: docker.APIClient) -> None:
    """Builds the image if it is missing or older than its files. The first time takes twenty seconds."""
    call_command("build_images", GATEWAY.type, "--no-pull", stdout=StringIO())
    assert client.images(GATEWAY.image)
