"""On which node an agent's memory is, where a volume is on the disk of one node.

An agent whose memory Berth itself has brought to a node stays there: elsewhere it would begin without. Its service says
so, and each later one of it.
"""

from collections.abc import Sequence

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.hardening import data_volume
from containers.identity import is_ours
from containers.swarm.arrivals import Arrivals
from containers.swarm.service_spec import HOME_LABEL
from containers.swarm.tasks import Service
from containers.swarm.traces import NotedTraces
from containers.vocabulary import ContainerSpec


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
            return str(client.info()["Swarm"]["NodeID"])
    except MissingError:
        return ""
