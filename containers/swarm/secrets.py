"""The credentials of agents as secrets of the Swarm, which reach the nodes that run them and no disk."""

import secrets
from collections.abc import Mapping
from contextlib import suppress

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.hardening import container_labels
from containers.identity import is_ours
from containers.swarm.tasks import generation_of
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, ContainerSpec


class Secrets:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @sensitive_variables()
    def make(self, spec: ContainerSpec) -> dict[str, str]:
        """Their ids, by names and files as `containers.swarm.service_spec` wants them. No two deploys share a name."""
        made: dict[str, str] = {}
        attempt = secrets.token_hex(3)
        for number, (file, content) in enumerate(sorted(spec.secrets.items())):
            own = f"{spec.name}-{spec.generation}-{number}-{attempt}"
            with self._connection.call() as client, understand_answer():
                made[f"{own}/{file}"] = client.create_secret_from(own, content, container_labels(spec))
        return made

    def discard(self, made: Mapping[str, str]) -> None:
        """Those that no service has come to use."""
        for secret in made.values():
            self._remove(secret)

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
