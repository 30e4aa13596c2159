"""Measures what an agent uses: its own node's engine does it, or the gateway of any other node."""

from collections.abc import Callable

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.stats import Meter, read_usage
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.gateway.protocol import GatewayClient
from containers.gateway.transport import Transport
from containers.swarm.nodes.nodes import Node, find_own_node, list_nodes
from containers.swarm.services.services import Services
from containers.swarm.tasks.tasks import Run, Service
from containers.vocabulary import PROJECT_LABEL, Usage

WITHIN = 3.0
"""Seconds for a gateway's answer."""

WITHOUT_GATEWAY = (
    "What this agent uses is unknown: its node is not the one that Berth asks, and without gateways (BERTH_GATEWAY) "
    "nobody measures there."
)
SILENT = "What this agent uses is unknown: the gateway of its node {} does not answer."
NOT_FOUND = "What this agent uses is unknown: its node {} has no control group of its container."


class Usages:
    def __init__(
        self, connection: Connection, services: Services, way_to: Callable[[Node], Transport],
        lost: Callable[[], frozenset[str]],
    ) -> None:  # fmt: skip
        """`way_to` leads to the gateway of a node, and `lost` returns the ids of nodes that do not answer."""
        self._connection = connection
        self._services = services
        self._way_to = way_to
        self._lost = lost
        self._meter = Meter()

    def of_key(self, key: str) -> Usage | None:
        service = next(iter(self._services.ours(key)), None)
        return self._read(service) if service else None

    def of_id(self, service_id: str) -> Usage | None:
        service = self._services.look_up(service_id)
        return self._read(service) if service else None

    def _read(self, service: Service) -> Usage | None:
        """Returns None if it does not run. Raises `EngineRefusedError` if nobody measures it."""
        run = next((run for run in service.runs if run.state == "running" and run.is_wanted), None)
        if run is None:
            return None
        if run.node == find_own_node(self._connection):
            return read_usage(self._connection, self._meter, run.container, started_at=run.said_at)
        if not settings.BERTH_GATEWAY:
            raise EngineRefusedError(WITHOUT_GATEWAY)
        return self._ask_gateway(service.labels.get(PROJECT_LABEL, ""), run)

    def _ask_gateway(self, project: str, run: Run) -> Usage | None:
        node = next((node for node in list_nodes(self._connection) if node.node_id == run.node), None)
        if node is None or run.node in self._lost():
            raise EngineRefusedError(SILENT.format(node.name if node else run.node))
        try:
            gateway = GatewayClient(self._way_to(node), within=WITHIN)
            counters = gateway.counters(project=project, container=run.container)
        except EngineUnavailableError as error:  # the engine itself answers, and is asked about other agents
            raise EngineRefusedError(SILENT.format(node.name)) from error
        if counters is None:
            raise EngineRefusedError(NOT_FOUND.format(node.name))
        return self._meter.read(run.container, counters, started_at=run.said_at)
