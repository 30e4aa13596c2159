"""Which nodes have the image that their gateways are to be made from: a gateway that is made before has no task."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from containers.docker_api.client import Connection
from containers.swarm.images import name_for_nodes
from containers.swarm.nodes import Node
from containers.swarm.pulls import Pulled, Pulls

NOT_PUSHED = "The registry does not have it: run `manage.py build_images --push`."
_LONGEST = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageThere:
    """`name` is what nodes know it by. `pulled` is None where they ask no registry: then nobody knows who has it."""

    name: str
    pulled: Pulled | None = None

    def is_on(self, node: Node) -> bool:
        return self.pulled is None or self.pulled.has(node.node_id)

    def explain(self, waiting: Sequence[Node]) -> str:
        """Why these nodes do not get it; empty where there are none."""
        if not waiting or self.pulled is None:
            return ""
        names = ", ".join(node.name for node in waiting)
        why = self.pulled.explain() if "@" in self.name else NOT_PUSHED
        return f"Nodes that wait for the gateway's image: {len(waiting)} ({names[:_LONGEST]}). {why}"


def find_image(connection: Connection, image: str) -> ImageThere:
    """Raises `ImageMissingError` where the node that we speak with does not have it."""
    name, _ = name_for_nodes(connection, image)
    if not settings.BERTH_REGISTRY:
        return ImageThere(name=name)
    # One without a digest was not pushed, or not yet: by its id other nodes would look for it in vain.
    return ImageThere(name=name, pulled=Pulls(connection).find(name) if "@" in name else Pulled(None))
