"""Removes gateway images that a former version of Berth has built and that no container uses any longer."""

import time
from contextlib import suppress

from containers.docker_api.building.image_build import GATEWAY
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineError

KEPT_FOR = 7 * 24 * 3600
"""Seconds since the build. Another installation on this engine may have built an image that it does not use yet."""


def remove_former_gateways(connection: Connection) -> None:
    """Removes former images of the gateway, and ignores failures. The engine refuses to remove one that is in use."""
    with suppress(EngineError):
        for image in _find_former(connection):
            with suppress(EngineError), connection.call() as client:
                client.remove_image(image)


def _find_former(connection: Connection) -> list[str]:
    until = time.time() - KEPT_FOR
    with connection.call() as client, understand_answer():
        found = client.images(GATEWAY.repository)
        old = [name for each in found if each["Created"] < until for name in each["RepoTags"] or []]
    return [name for name in old if name != GATEWAY.image]
