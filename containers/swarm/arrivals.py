"""Which agents' memories are still to come to the Swarm, and on which node those are that came.

Both are small configs of the Swarm, because each of its managers knows them: Berth may speak with another one tomorrow.
An agent whose memory is awaited is not started: it may still run where it was, and its volume may be a part.
"""

from collections.abc import Iterable

from containers.docker_api.client import Connection
from containers.errors import EngineUnavailableError
from containers.swarm.agent_configs import AgentConfigs
from containers.swarm.service_spec import HOME_LABEL

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
