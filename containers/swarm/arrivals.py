"""Which agents' memories are still to come to the Swarm, and on which node those are that came.

Both are small configs of the Swarm, because each of its managers knows them: Berth may speak with another one tomorrow.
An agent whose memory is awaited is not started: it may still run where it was, and its volume may be a part. One whose
memory Berth itself has brought to a node stays there, where volumes are on the disks of nodes: elsewhere it would begin
without. Its service says so, and each later one of it.
"""

from collections.abc import Iterable, Sequence

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineUnavailableError
from containers.hardening import data_volume
from containers.identity import is_ours
from containers.swarm.agent_configs import AgentConfigs
from containers.swarm.nodes import find_own_node
from containers.swarm.service_spec import HOME_LABEL
from containers.swarm.tasks import Service
from containers.swarm.traces import NotedTraces
from containers.vocabulary import ContainerSpec

AWAITED_LABEL = "berth.awaited"
"""The label of a config that says that an agent is not to be started before its memory has come."""

AWAITED = "What the agent remembers is not here yet. The staff have to run `migrate_engine` or `restore` to its end."


class Arrivals:
    def __init__(self, connection: Connection) -> None:
        self._configs = AgentConfigs(connection)

    def expect(self, keys: Iterable[str]) -> None:
        """Keeps these agents from being started."""
        for key in keys:
            self._configs.make(key, "awaited", AWAITED_LABEL, "yes")

    def settle(self, key: str, *, home: str = "") -> None:
        """All of it has come, to this node; without one there was nothing to bring. The agent may be started."""
        if home:
            self._configs.remove(key, HOME_LABEL)
            self._configs.make(key, "home", HOME_LABEL, home)
        self._configs.remove(key, AWAITED_LABEL)

    def find_home(self, key: str) -> str:
        """The id of the node that has what the agent remembers; empty where nothing was brought.

        Raises `EngineUnavailableError` where it is still to come.
        """
        labels = [config.labels for config in self._configs.of_key(key)]
        if any(AWAITED_LABEL in each for each in labels):
            raise EngineUnavailableError(AWAITED)
        return next((each[HOME_LABEL] for each in labels if HOME_LABEL in each), "")


def find_home(connection: Connection, former: Sequence[Service], spec: ContainerSpec) -> str:
    """The id of the node to which the agent is bound; empty where it may go to any.

    The former service tells it, else what was noted when a move from a single host or a backup brought its memory.
    Where neither is, and the node that we speak with has a memory of its, it is that node; but not where the agent has
    run on nodes of the Swarm's choice: then that memory is no more its than another node's.

    Raises `EngineUnavailableError` where its memory is still to come.
    """
    if settings.BERTH_SWARM_VOLUME_DRIVER:
        return ""
    if former:
        return former[0].labels.get(HOME_LABEL, "")
    if home := Arrivals(connection).find_home(spec.key):
        return home
    return "" if NotedTraces(connection).find(spec.key).nodes else _find_here(connection, spec)


def _find_here(connection: Connection, spec: ContainerSpec) -> str:
    """The node that we speak with, where it has a memory of the agent's."""
    try:
        with connection.call(about_one=True) as client, understand_answer():
            volume = client.inspect_volume(data_volume(spec.name))
            if not is_ours(volume.get("Labels") or {}):
                return ""
    except MissingError:
        return ""
    return find_own_node(connection)
