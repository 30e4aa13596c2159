"""Notes which agents' memories have not arrived in the Swarm yet, and on which nodes the others are.

Both are small Swarm configs, because Berth may use another manager tomorrow, and every manager knows them. An agent
whose memory is awaited is not started: it may still run at its old place, and its volume may be incomplete. If volumes
are on the nodes' disks, an agent whose memory Berth has brought to a node stays there, because it would have no memory
elsewhere. Its service says so, and so does each later one.
"""

from collections.abc import Iterable, Sequence

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineUnavailableError
from containers.hardening import data_volume
from containers.identity import is_ours
from containers.swarm.nodes.nodes import find_own_node
from containers.swarm.notes.agent_configs import AgentConfigs
from containers.swarm.notes.state_locations import StateLocations
from containers.swarm.tasks.service_spec import HOME_LABEL
from containers.swarm.tasks.tasks import Service
from containers.vocabulary import ContainerSpec

AWAITED_LABEL = "berth.awaited"
"""The label of a config that keeps an agent from being started before its memory has arrived."""

AWAITED = "The agent's memory has not arrived yet. The staff must run `migrate_engine` or `restore` to the end."


class AwaitedStates:
    def __init__(self, connection: Connection) -> None:
        self._configs = AgentConfigs(connection)

    def expect(self, keys: Iterable[str]) -> None:
        """Keeps these agents from being started."""
        for key in keys:
            self._configs.make(key, "awaited", AWAITED_LABEL, "yes")

    def settle(self, key: str, *, home: str = "") -> None:
        """Allows the agent to start: its memory has arrived on the node `home`, or without one there was none."""
        if home:
            self._configs.remove(key, HOME_LABEL)
            self._configs.make(key, "home", HOME_LABEL, home)
        self._configs.remove(key, AWAITED_LABEL)

    def find_home(self, key: str) -> str:
        """Returns the id of the node that has the agent's memory, or an empty string if none was brought.

        Raises `EngineUnavailableError` if it has not arrived yet.
        """
        labels = [config.labels for config in self._configs.of_key(key)]
        if any(AWAITED_LABEL in each for each in labels):
            raise EngineUnavailableError(AWAITED)
        return next((each[HOME_LABEL] for each in labels if HOME_LABEL in each), "")


def find_home(connection: Connection, former: Sequence[Service], spec: ContainerSpec) -> str:
    """Returns the id of the node to which the agent is bound, or an empty string if it may run on any.

    The former service says it, or else the note from when a move or a backup brought its memory. Without either, it is
    the node that we are connected to if that has a memory of the agent. It is not if the agent has run on nodes of the
    Swarm's choice, because then other nodes may equally have its memory.

    Raises `EngineUnavailableError` if its memory has not arrived yet.
    """
    if settings.BERTH_SWARM_VOLUME_DRIVER:
        return ""
    if former:
        return former[0].labels.get(HOME_LABEL, "")
    if home := AwaitedStates(connection).find_home(spec.key):
        return home
    return "" if StateLocations(connection).find(spec.key).nodes else _find_here(connection, spec)


def _find_here(connection: Connection, spec: ContainerSpec) -> str:
    """Returns the id of the node that we are connected to if it has a memory of the agent, or an empty string."""
    try:
        with connection.call(about_one=True) as client, understand_answer():
            volume = client.inspect_volume(data_volume(spec.name))
            if not is_ours(volume.get("Labels") or {}):
                return ""
    except MissingError:
        return ""
    return find_own_node(connection)
