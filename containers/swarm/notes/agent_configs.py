"""Notes about agents that all of the Swarm's managers can read, stored as labels of small Swarm configs."""

from contextlib import suppress
from typing import NamedTuple

from django.conf import settings

from containers.docker_api.answers import read_labels
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.identity import container_name, is_ours, own_labels
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL

LIST_SIZE = 32 * 1024 * 1024
"""Bytes of a list of all agents' configs: some thousand agents with five nodes each."""


class AgentConfig(NamedTuple):
    config_id: str
    labels: dict[str, str]


class AgentConfigs:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of_key(self, key: str) -> list[AgentConfig]:
        return self._list(f"{PROJECT_LABEL}={key}")

    def with_label(self, label: str) -> list[AgentConfig]:
        """Returns the configs of all agents that have this label."""
        return self._list(label)

    def make(self, key: str, end: str, label: str, value: str) -> None:
        """Creates a config. An existing one is no error."""
        labels = {**own_labels(), PROJECT_LABEL: key, label: value}
        with suppress(ConflictError), self._connection.call() as client, understand_answer():
            client.create_config(f"{container_name(key)}-{end}", value, labels)

    def remove(self, key: str, *labels: str) -> None:
        """Removes the configs of the key that have any of these labels."""
        for config in self.of_key(key):
            if any(label in config.labels for label in labels):
                self.remove_one(config)

    def remove_one(self, config: AgentConfig) -> None:
        with suppress(MissingError), self._connection.call() as client:
            client.remove_config(config.config_id)

    def _list(self, chosen: str) -> list[AgentConfig]:
        labels = [f"{INSTANCE_LABEL}={settings.BERTH_INSTANCE}", chosen]
        with self._connection.call(size=LIST_SIZE) as client, understand_answer():
            rows = client.configs(filters={"label": labels})
            found = [AgentConfig(str(row["ID"]), read_labels(row["Spec"].get("Labels"))) for row in rows]
        return [config for config in found if is_ours(config.labels)]
