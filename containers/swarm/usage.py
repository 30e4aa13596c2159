"""Reads what an agent uses. Only its own node can count that, so it is known only for agents on the connected node."""

from containers.docker_api.client import Connection
from containers.docker_api.stats import Meter, read_usage
from containers.errors import EngineRefusedError
from containers.swarm.nodes import find_own_node
from containers.swarm.services import Services
from containers.swarm.tasks import Service
from containers.vocabulary import Usage

ELSEWHERE = "Only an agent's own node knows what it uses, and Berth is not connected to this agent's node."


class Usages:
    def __init__(self, connection: Connection, services: Services) -> None:
        self._connection = connection
        self._services = services
        self._meter = Meter()

    def of_key(self, key: str) -> Usage | None:
        service = next(iter(self._services.ours(key)), None)
        return self._read(service) if service else None

    def of_id(self, service_id: str) -> Usage | None:
        service = self._services.look_up(service_id)
        return self._read(service) if service else None

    def _read(self, service: Service) -> Usage | None:
        """Returns None if the agent does not run. Raises `EngineRefusedError` if it runs on another node."""
        run = next((run for run in service.runs if run.state == "running" and run.is_wanted), None)
        if run is None:
            return None
        if run.node != find_own_node(self._connection):
            raise EngineRefusedError(ELSEWHERE)
        return read_usage(self._connection, self._meter, run.container, started_at=run.said_at)
