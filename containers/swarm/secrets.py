"""The credentials of agents as secrets of the Swarm.

Its managers keep them in their log on disk, encrypted; the nodes that run the agents have them in memory only.
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
from containers.swarm.tasks import generation_of
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, ContainerSpec, Volume


class Secrets:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @sensitive_variables()
    def make(self, spec: ContainerSpec) -> dict[str, str]:
        """Their ids, by names and files as `containers.swarm.service_spec` wants them. No two deploys share a name.

        All or none are made, as far as the Swarm answers.
        """
        made: dict[str, str] = {}
        attempt = secrets.token_hex(3)
        for number, (file, content) in enumerate(sorted(spec.secrets.items())):
            own = f"{spec.name}-{spec.generation}-{number}-{attempt}"
            try:
                with self._connection.call() as client, understand_answer():
                    made[f"{own}/{file}"] = client.create_secret_from(own, content, container_labels(spec))
            except EngineError:
                self.discard({**made, own: own})  # it may be there all the same, and then under its name
                raise
        return made

    def discard(self, made: Mapping[str, str]) -> None:
        """Those that no service has come to use. What a silent Swarm keeps is found by its labels later."""
        for secret in made.values():
            with suppress(EngineError):
                self._remove(secret)

    def list_labels(self, within: Mapping[str, str]) -> list[Volume]:
        """The secrets of ours with these labels: one volume for each agent, as a single host has one, with the oldest.

        So those that nothing needs any more are found as such volumes are.
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
        """Those of this key, or of its deploys before this one. One that a service uses stays."""
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
