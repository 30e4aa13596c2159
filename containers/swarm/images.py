"""How the nodes of a Swarm know an image: by its digest in the registry, or by its id where all have it already."""

from typing import Any

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.docker_api.image_build import inspect_image
from containers.errors import ImageMissingError


def name_for_nodes(connection: Connection, image: str) -> tuple[str, str]:
    """The name by which nodes find it, and its id. Nodes ask no registry for an image that is named by its id.

    Raises `ImageMissingError` where the node that we speak with does not have it.
    """
    found = inspect_image(connection, image)
    if found is None:
        raise ImageMissingError(f"The image {image} is not on the engine. Run `manage.py build_images`.")
    with understand_answer():
        return _digest_in_registry(found) or str(found["Id"]), str(found["Id"])


def _digest_in_registry(image: dict[str, Any]) -> str:
    digests = [str(each) for each in image.get("RepoDigests") or []] if settings.BERTH_REGISTRY else []
    return next((each for each in digests if each.startswith(f"{settings.BERTH_REGISTRY}/")), "")
