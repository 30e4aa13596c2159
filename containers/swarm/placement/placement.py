"""Decides on which nodes an agent may run."""

from collections.abc import Sequence
from typing import NamedTuple

from containers.docker_api.client import Connection
from containers.errors import NoRoomError
from containers.swarm.images.images import require_pulled
from containers.swarm.nodes.nodes import Node, list_nodes, require_settled
from containers.swarm.notes.awaited_states import find_home
from containers.swarm.notes.copied_states import Copy
from containers.swarm.notes.state_locations import kept_on
from containers.swarm.placement.capacity import constraints_of, nodes_for, require_room
from containers.swarm.services.services import Services
from containers.swarm.services.spec_changes import on_node
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL, HOME_LABEL, KEPT_ON_LABEL
from containers.vocabulary import ContainerSpec

HOME_AWAY = "The machine that has the agent's memory takes no agents now{}. The agent can only start there."


class Placement(NamedTuple):
    """The constraints of a service, the node that has its state and binds it, if any, and all nodes that have some of
    it. `copied_on` is the node that binds it for as long as it has a copy of the state.
    """

    constraints: list[str]
    home: str
    before: frozenset[str]
    copied_on: str = ""

    @property
    def notes(self) -> dict[str, str]:
        """Returns the labels with which its service says so."""
        return {
            HOME_LABEL: self.home,
            KEPT_ON_LABEL: " ".join(sorted(self.before)),
            COPIED_ON_LABEL: self.copied_on,
        }


def place(connection: Connection, services: Services, spec: ContainerSpec, image: str, copy: Copy | None) -> Placement:
    """Chooses where an agent may run, before anything is created. `image` is the image's name as nodes know it, `copy`
    the copy of the agent's state, if there is one.

    Raises `ImageNotPulledError` if no node of its plan has the image, and `NoRoomError` if none has room.
    """
    nodes = list_nodes(connection)
    former = services.of_key(spec.key)
    home, before = find_home(connection, former, spec), frozenset(node for each in former for node in kept_on(each))
    if home in {node.node_id for node in nodes}:
        # Even if its plan has got nodes of its own since, because the agent's state is not on them.
        there, _ = require_pulled(connection, image, _require_home(nodes, home))
        require_room(connection, there, spec)
        return Placement([on_node(home)], home, before)
    of_plan, bound = nodes_for(spec.plan, nodes), _find_bound(nodes, copy)
    usual: list[str] = []
    if not bound or bound[0] in of_plan:
        there, elsewhere = require_pulled(connection, image, of_plan)
        usual = [*constraints_of(spec.plan, nodes), *elsewhere]
    if bound:
        there, _ = require_pulled(connection, image, bound)
    require_room(connection, there, spec)
    copied_on = "".join(node.node_id for node in bound)
    return Placement([*usual, *map(on_node, filter(None, [copied_on]))], "", before, copied_on)


def _find_bound(nodes: Sequence[Node], copy: Copy | None) -> list[Node]:
    """Returns the node that has the agent's state and a copy of it, if any.

    Raises `NoRoomError` if that takes no agents and the copy may be needed. Without a complete copy, the agent may
    start elsewhere, as after the loss of any node.
    """
    found = [node for node in nodes if copy is not None and node.node_id == copy.node]
    if copy is not None and copy.is_complete:
        return _require_home(found, copy.node)
    return [node for node in found if node.is_ready and node.is_active]


def _require_home(nodes: Sequence[Node], home: str) -> list[Node]:
    found = [node for node in nodes if node.node_id == home]
    if not all(node.is_ready and node.is_active for node in found):
        require_settled(found)
        raise NoRoomError(HOME_AWAY.format("".join(f" ({node.name})" for node in found)))
    return found
