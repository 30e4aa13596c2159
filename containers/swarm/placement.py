"""Decides on which nodes an agent may run."""

from collections.abc import Sequence
from typing import NamedTuple

from containers.docker_api.client import Connection
from containers.errors import NoRoomError
from containers.swarm.arrivals import find_home
from containers.swarm.images import require_pulled
from containers.swarm.nodes import Node, list_nodes, require_settled
from containers.swarm.room import constraints_of, nodes_for, require_room
from containers.swarm.services import Services
from containers.swarm.traces import kept_on
from containers.vocabulary import ContainerSpec

HOME_AWAY = "The machine that has what the agent remembers takes no agents now{}. It starts there alone."


class Placement(NamedTuple):
    """The constraints of a service, the node to which its memory binds it, if any does, and those that have some."""

    constraints: list[str]
    home: str
    before: frozenset[str]


def place(connection: Connection, services: Services, spec: ContainerSpec, image: str) -> Placement:
    """`image` is how the nodes know its image. Nothing is made before.

    Raises `ImageNotPulledError` where no node of its plan has the image, and `NoRoomError` where none has room.
    """
    nodes = list_nodes(connection)
    former = services.of_key(spec.key)
    home, before = find_home(connection, former, spec), frozenset(node for each in former for node in kept_on(each))
    if home in {node.node_id for node in nodes}:
        # Also where its plan has nodes of its own since: its memory is not there.
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
