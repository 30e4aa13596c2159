"""Decides on which nodes an agent may run."""

from collections.abc import Sequence
from typing import NamedTuple

from containers.docker_api.client import Connection
from containers.errors import NoRoomError
from containers.swarm.images.images import require_pulled
from containers.swarm.nodes.nodes import Node, list_nodes, require_settled
from containers.swarm.notes.awaited_states import find_home
from containers.swarm.notes.state_locations import kept_on
from containers.swarm.placement.capacity import constraints_of, nodes_for, require_room
from containers.swarm.services.services import Services
from containers.vocabulary import ContainerSpec

HOME_AWAY = "The machine that has the agent's memory takes no agents now{}. The agent can only start there."


class Placement(NamedTuple):
    """The constraints of a service, the node that has its state and binds it, if any, and all nodes that have some of
    it.
    """

    constraints: list[str]
    home: str
    before: frozenset[str]


def place(connection: Connection, services: Services, spec: ContainerSpec, image: str) -> Placement:
    """Chooses where an agent may run, before anything is created. `image` is the image's name as nodes know it.

    Raises `ImageNotPulledError` if no node of its plan has the image, and `NoRoomError` if none has room.
    """
    nodes = list_nodes(connection)
    former = services.of_key(spec.key)
    home, before = find_home(connection, former, spec), frozenset(node for each in former for node in kept_on(each))
    if home in {node.node_id for node in nodes}:
        # Even if its plan has got nodes of its own since, because the agent's state is not on them.
        there, _ = require_pulled(connection, image, _require_home(nodes, home))
        require_room(connection, there, spec)
        return Placement([f"node.id == {home}"], home, before)
    there, elsewhere = require_pulled(connection, image, nodes_for(spec.plan, nodes))
    require_room(connection, there, spec)
    return Placement([*constraints_of(spec.plan, nodes), *elsewhere], "", before)


def _require_home(nodes: Sequence[Node], home: str) -> list[Node]:
    found = [node for node in nodes if node.node_id == home]
    if not all(node.is_ready and node.is_active for node in found):
        require_settled(found)
        raise NoRoomError(HOME_AWAY.format("".join(f" ({node.name})" for node in found)))
    return found
