"""On which nodes an agent may run."""

from containers.docker_api.client import Connection
from containers.swarm.images import require_pulled
from containers.swarm.nodes import list_nodes
from containers.swarm.room import constraints_of, nodes_for, require_room
from containers.vocabulary import ContainerSpec


def place(connection: Connection, spec: ContainerSpec, image: str) -> list[str]:
    """The constraints of its service. `image` is how the nodes know its image. Nothing is made before.

    Raises `ImageNotPulledError` where no node of its plan has the image, and `NoRoomError` where none has room.
    """
    nodes = list_nodes(connection)
    there, elsewhere = require_pulled(connection, image, nodes_for(spec.plan, nodes))
    require_room(connection, there, spec)
    return [*constraints_of(spec.plan, nodes), *elsewhere]
