"""Which agents' memories are still to come to the Swarm, and on which node those are that came.

Both are small configs of the Swarm, because each of its managers knows them: Berth may speak with another one tomorrow.
An agent whose memory is awaited is not started: it may still run where it was, and its volume may be a part.
"""

from collections.abc import Iterable
from contextlib import suppress

from django.conf import settings

from containers.docker_api.answers import read_labels
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineUnavailableError
from containers.identity import container_name, is_ours, own_labels
from containers.swarm.service_spec import HOME_LABEL
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL

AWAITED_LABEL = "berth.awaited"
"""The label of a config that says that an agent is not to be started before its memory has come."""

AWAITED = "What the agent remembers is not here yet. The staff have to run `migrate_engine` or `restore` to its end."


class Arrivals:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def expect(self, keys: Iterable[str]) -> None:
        """Keeps these agents from being started."""
        for key in keys:
            self._make(key, "awaited", AWAITED_LABEL, "yes")

    def settle(self, key: str, *, home: str = "") -> None:
        """All of it has come, to this node; without one there was nothing to bring. The agent may be started."""
        if home:
            self._remove(key, HOME_LABEL)
            self._make(key, "home", HOME_LABEL, home)
        self._remove(key, AWAITED_LABEL)

    def find_home(self, key: str) -> str:
        """The id of the node that has what the agent remembers; empty where nothing was brought.

        Raises `EngineUnavailableError` where it is still to come.
        """
        labels = [labels for _, labels in self._list(key)]
        if any(AWAITED_LABEL in each for each in labels):
            raise EngineUnavailableError(AWAITED)
        return next((each[HOME_LABEL] for each in labels if HOME_LABEL in each), "")

    def forget_home(self, key: str) -> None:
        """What it remembers is about to go. What is awaited is awaited all the same."""
        self._remove(key, HOME_LABEL)

    def _list(self, key: str) -> list[tuple[str, dict[str, str]]]:
        chosen = [f"{INSTANCE_LABEL}={settings.BERTH_INSTANCE}", f"{PROJECT_LABEL}={key}"]
        with self._connection.call() as client, understand_answer():
            rows = client.configs(filters={"label": chosen})
            found = [(str(row["ID"]), read_labels(row["Spec"].get("Labels"))) for row in rows]
        return [(config, labels) for config, labels in found if is_ours(labels)]

    def _make(self, key: str, end: str, label: str, value: str) -> None:
        """One that is there already is no error."""
        labels = {**own_labels(), PROJECT_LABEL: key, label: value}
        with suppress(ConflictError), self._connection.call() as client, understand_answer():
            client.create_config(f"{container_name(key)}-{end}", value, labels)

    def _remove(self, key: str, label: str) -> None:
        for config, labels in self._list(key):
            if label in labels:
                with suppress(MissingError), self._connection.call() as client:
                    client.remove_config(config)
