"""Finds the node on which an agent's state can be copied, and the image that can do it there."""

from django.conf import settings

from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.swarm.images.images import name_for_nodes, require_pulled
from containers.swarm.nodes.nodes import Node, find_own_node, list_nodes
from containers.swarm.notes.awaited_states import AwaitedStates
from containers.swarm.notes.copied_states import SHARED, Copy
from containers.swarm.notes.state_locations import Program, kept_on, last_place_of, program_of
from containers.swarm.services.services import Services
from containers.swarm.states.disk_images import DiskImages
from containers.swarm.states.shared_folders import has_folders
from containers.swarm.states.state_writer import Memory

BY_DRIVER = "BERTH_SWARM_VOLUME_DRIVER keeps what agents remember where Berth can make no copy of it."
AWAY = "What the agent remembers is on {}, which takes no tasks now. Try again when that is back."
NO_NODE = "No node takes tasks now, and so nothing can copy what the agent remembers. Try again later."
SOMEWHERE = "Nobody knows which of several nodes has what the agent remembers. Restart it, then try again."


class CopyPlaces:
    def __init__(self, connection: Connection, services: Services) -> None:
        self._connection = connection
        self._services = services
        self._images = DiskImages(connection)

    def find_state(self, key: str) -> str:
        """Returns the id of the node with the agent's state, `SHARED`, or an empty string if there is no state.

        Raises `EngineRefusedError` if nobody knows, or if a driver keeps it out of reach.
        """
        services, noted = self._services.ours(key), self._services.state_locations.find(key)
        nodes = noted.nodes.union(*map(kept_on, services))
        if settings.BERTH_SWARM_VOLUME_DRIVER:
            if not has_folders():
                raise EngineRefusedError(BY_DRIVER)
            return SHARED if nodes else ""
        last = last_place_of(services[0]) if services else ""
        if last:
            return last if self.exists(last) else ""
        if home := AwaitedStates(self._connection).find_home(key):
            return home if self.exists(home) else ""
        there = sorted(node for node in nodes if self.exists(node))
        if len(there) > 1:
            raise EngineRefusedError(SOMEWHERE)
        if there or not Memory(self._connection).is_here(key):
            return "".join(there)
        return find_own_node(self._connection)

    def exists(self, place: str) -> bool:
        """Whether the node is still part of the Swarm."""
        return place == SHARED or any(node.node_id == place for node in list_nodes(self._connection))

    def choose_node(self, place: str, key: str) -> Node:
        """Returns a node that can run a job there. Raises `EngineUnavailableError` if none takes tasks."""
        nodes = list_nodes(self._connection)
        able = [node for node in nodes if node.is_ready and node.is_active]
        if place != SHARED:
            found = [node for node in able if node.node_id == place]
            if not found:
                names = [node.name for node in nodes if node.node_id == place]
                raise EngineUnavailableError(AWAY.format("".join(names) or "a machine that has left"))
            return found[0]
        if not able:
            raise EngineUnavailableError(NO_NODE)
        noted, services = self._services.state_locations.find(key), self._services.ours(key)
        known = self._images.of_gateways().keys() | noted.nodes.union(*map(kept_on, services))
        with_image = [node for node in able if node.node_id in known]
        program = self._find_program(key)
        if with_image or program is None:
            return (with_image or able)[0]
        return require_pulled(self._connection, program.image, able)[0][0]

    def choose_image(self, node: Node, key: str, image: str) -> str:
        """Returns the image that makes a copy: that of Berth's own gateway if the node has it, or else the one that the
        agent has run there. `image` is used if the agent has never run.
        """
        if own := self._find_gateway(node):
            return own
        program = self._find_program(key)
        return program.image if program else name_for_nodes(self._connection, image)[0]

    def choose_reader(self, node: Node, copy: Copy) -> str:
        """Returns the image that reads or removes a copy. The agent's may be another one by now, which cannot."""
        return self._find_gateway(node) or copy.image

    def _find_gateway(self, node: Node) -> str | None:
        return self._images.of_gateways().get(node.node_id) if settings.BERTH_GATEWAY else None

    def _find_program(self, key: str) -> Program | None:
        """Returns the program that ran last, or else the one that should run next."""
        services = self._services.ours(key)
        ran = [program_of(service) for service in services if any(run.has_run for run in service.runs)]
        noted = self._services.state_locations.find(key).program
        return next(iter([*ran, *([noted] if noted else []), *map(program_of, services)]), None)
