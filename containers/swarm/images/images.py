"""How nodes of a Swarm name an image: by its digest in the registry, or by its id if they already have it."""

from collections.abc import Sequence

from django.conf import settings

from containers.docker_api.building.image_build import inspect_image
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.docker_api.registry import digest_in_registry, name_in_registry
from containers.errors import ImageMissingError, ImageNotPulledError
from containers.swarm.images.pulls import Pulls
from containers.swarm.nodes.nodes import Node, require_settled


def name_for_nodes(connection: Connection, image: str) -> tuple[str, str]:
    """Returns the name by which nodes find the image, and its id. Nodes ask no registry for an image named by its id.

    Raises `ImageMissingError` if the node that we are connected to does not have the image.
    """
    found = inspect_image(connection, image)
    if found is None:
        raise ImageMissingError(f"The image {image} is not on the engine. Run `manage.py build_images`.")
    with understand_answer():
        registry, image_id = settings.BERTH_REGISTRY, str(found["Id"])
        if not registry:
            return image_id, image_id
        named = digest_in_registry(found, name_in_registry(image, registry)[0])
        return named or next(iter(_digests(found, registry)), image_id), image_id


def _digests(image: dict[str, object], registry: str) -> list[str]:
    """Returns its digests in our registry under any name, because an agent's deploy names its image by its id."""
    known = image.get("RepoDigests")
    digests = [str(each) for each in known] if isinstance(known, list) else []
    return sorted(each for each in digests if each.startswith(f"{registry}/"))


def require_pulled(connection: Connection, reference: str, nodes: Sequence[Node]) -> tuple[list[Node], list[str]]:
    """Returns the nodes that have the image, and the constraints that keep an agent off the others.

    Returns all nodes for an image that is named by its id. Raises `ImageNotPulledError` if no node that takes agents
    has the image: pulling it would take longer than a request may.
    """
    if "@" not in reference:
        return list(nodes), []
    pulled = Pulls(connection).find(reference)
    there = [node for node in nodes if pulled.has(node.node_id)]
    if not any(node.is_ready and node.is_active for node in there):
        require_settled(there)
        raise ImageNotPulledError(f"No node that takes agents has the image {reference} yet. {pulled.explain()}")
    return there, [f"node.id != {node.node_id}" for node in nodes if node not in there]
