"""Checks whether this Swarm's services can confine agents as far as the operator requires."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineRefusedError
from containers.swarm.confinement.missing_protections import api_of, explain_refusal, find_missing
from containers.swarm.nodes.nodes import Node, list_nodes, read_api

DAEMON_LABEL = "berth.no-new-privileges"
"""The label of a node's daemon.json by which its operator says that the same file has `"no-new-privileges": true`.

A manager sees that of itself only; of the other nodes it sees the labels."""


class Confinement:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def missing(self) -> list[str]:
        """Returns the protections that services cannot have on all nodes, accepted or not. Asks the engine.

        A node ignores settings that it does not know, so the oldest node decides. A node that is down may come back.
        """
        nodes = list_nodes(self._connection)
        return find_missing(
            min([read_api(self._connection), *(api_of(node.engine) for node in nodes if node.engine or node.is_ready)]),
            held_by_daemons=self._is_held_by_daemons(nodes),
            runtime=settings.BERTH_CONTAINER_RUNTIME,
        )

    def require(self) -> tuple[int, int]:
        """Returns the API version. Raises `EngineRefusedError` if a protection is missing that is not accepted."""
        refusal = explain_refusal(self.missing(), accepted=settings.BERTH_SWARM_ACCEPT)
        if refusal:
            raise EngineRefusedError(refusal)
        return read_api(self._connection)

    def _is_held_by_daemons(self, nodes: Sequence[Node]) -> bool:
        with self._connection.call() as client, understand_answer():
            info: dict[str, Any] = client.info()
            here, options = str(info["Swarm"]["NodeID"]), [str(each) for each in info.get("SecurityOptions") or []]
        if not any("no-new-privileges" in option for option in options):
            return False
        return all(node.daemon_labels.get(DAEMON_LABEL) == "true" for node in nodes if node.node_id != here)
