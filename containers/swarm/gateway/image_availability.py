"""Finds out which nodes have the gateway's image. A gateway created on a node without it would have no running task."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from containers.docker_api.client import Connection
from containers.swarm.images.images import name_for_nodes
from containers.swarm.images.pulls import Pulled, Pulls
from containers.swarm.nodes.nodes import Node

NOT_PUSHED = "The registry does not have it: run `manage.py build_images --push`."
_LONGEST = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAvailability:
    """`name` is the image's name as nodes know it. `pulled` is None if nodes do not use a registry; it is then unknown
    which of them have the image.
    """

    name: str
    pulled: Pulled | None = None

    def is_on(self, node: Node) -> bool:
        return self.pulled is None or self.pulled.has(node.node_id)

    def explain(self, waiting: Sequence[Node]) -> str:
        """Returns a sentence that says why these nodes do not have it; empty if there are none."""
        if not waiting or self.pulled is None:
            return ""
        names = ", ".join(node.name for node in waiting)
        why = self.pulled.explain() if "@" in self.name else NOT_PUSHED
        return f"Nodes that wait for the gateway's image: {len(waiting)} ({names[:_LONGEST]}). {why}"


def find_image(connection: Connection, image: str) -> ImageAvailability:
    """Raises `ImageMissingError` if the node that we are connected to does not have the image."""
    name, _ = name_for_nodes(connection, image)
    if not settings.BERTH_REGISTRY:
        return ImageAvailability(name=name)
    # An image without a digest has not been pushed (yet). Other nodes would look for its id in vain.
    return ImageAvailability(name=name, pulled=Pulls(connection).find(name) if "@" in name else Pulled(None))
