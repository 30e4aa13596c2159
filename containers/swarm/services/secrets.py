"""The credentials of agents as secrets of the Swarm.

The managers keep them encrypted in their log on disk; the nodes that run the agents have them in memory only.
"""

import secrets
from collections.abc import Mapping
from contextlib import suppress

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.agent_reports import parse_time
from containers.docker_api.answers import read_labels
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError
from containers.hardening import SECRETS, container_labels
from containers.identity import container_name, is_ours
from containers.swarm.tasks.tasks import generation_of
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, ContainerSpec, Volume


class Secrets:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @sensitive_variables()
    def make(self, spec: ContainerSpec) -> dict[str, str]:
        """Creates all secrets of a deploy, or none as far as the Swarm answers. No two deploys share a name.

        Returns their ids by `name/file`, which `containers.swarm.tasks.service_spec` reads.
        """
        made: dict[str, str] = {}
        attempt = secrets.token_hex(3)
        for number, (file, content) in enumerate(sorted(spec.secrets.items())):
            own = f"{spec.name}-{spec.generation}-{number}-{attempt}"
            try:
                with self._connection.call() as client, understand_answer():
                    made[f"{own}/{file}"] = client.create_secret_from(own, content, container_labels(spec))
            except EngineError:
                self.discard({**made, own: own})  # it may exist all the same, and its name identifies it
                raise
        return made

    def discard(self, made: Mapping[str, str]) -> None:
        """Removes secrets that no service uses. If the Swarm does not answer, a later clean-up finds them by their
        labels.
        """
        for secret in made.values():
            with suppress(EngineError):
                self._remove(secret)

    def list_labels(self, within: Mapping[str, str]) -> list[Volume]:
        """Returns one volume for each agent that has secrets of ours with these labels, with the time of the oldest.

        A single host keeps secrets in one volume per agent, so this lets the same clean-up find unneeded secrets.
        """
        with self._connection.call() as client, understand_answer():
            rows = client.secrets(filters={"label": [f"{label}={value}" for label, value in within.items()]})
            read = [(read_labels(row["Spec"].get("Labels")), parse_time(row["CreatedAt"])) for row in rows]
        ours = [(labels, at) for labels, at in read if is_ours(labels) and labels.get(PROJECT_LABEL)]
        newest_first = sorted(ours, key=lambda each: each[1].timestamp() if each[1] else 0.0, reverse=True)
        oldest = {labels[PROJECT_LABEL]: (labels, at) for labels, at in newest_first}
        return [
            Volume(name=f"{container_name(key)}{SECRETS}", labels=labels, created_at=at)
            for key, (labels, at) in oldest.items()
        ]

    def remove(self, key: str, *, before: int | None = None) -> None:
        """Removes the secrets of this key, or only those of deploys `before` this generation. Keeps secrets in use."""
        chosen = [f"{INSTANCE_LABEL}={settings.BERTH_INSTANCE}", f"{PROJECT_LABEL}={key}"]
        with self._connection.call() as client, understand_answer():
            rows = client.secrets(filters={"label": chosen})
            found = [(str(row["ID"]), dict(row["Spec"].get("Labels") or {})) for row in rows]
        for secret, labels in found:
            if is_ours(labels) and (before is None or generation_of(labels) < before):
                self._remove(secret)

    def _remove(self, secret: str) -> None:
        with suppress(MissingError, EngineRefusedError), self._connection.call() as client:
            client.remove_secret(secret)
