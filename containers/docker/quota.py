"""A hard limit on what an agent keeps, where the engine's volumes can have one.

That is so where Docker's directory is on a file system that counts for each directory: XFS, mounted with `pquota`.
Docker does not say whether it is, and refuses a volume with a size where it is not. So the first deploy finds out.
"""

import time
from functools import partial
from typing import Any

from django.conf import settings

from containers.docker.drift import wanted_policy
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineRefusedError
from containers.hardening import container_payload
from containers.identity import gateway_network_name, network_name
from containers.vocabulary import ContainerSpec

ASK_AGAIN_AFTER = 3600.0
"""Seconds after a refusal. Somebody may have moved Docker's directory."""


class HardQuota:
    """What the engine is known to do. Serves all threads of a process."""

    def __init__(self) -> None:
        self._refused_until = 0.0

    def create(self, connection: Connection, spec: ContainerSpec, *, state: str, is_new: bool) -> str:
        """Makes the container, and with it the volume `state` where that `is_new`. Returns the container's id."""
        make_payload = partial(
            container_payload,
            spec,
            network=network_name() if spec.address is None else gateway_network_name(),
            runtime=settings.BERTH_CONTAINER_RUNTIME,
            state=state,
            restart_policy=wanted_policy(),
            name_servers=settings.BERTH_DNS,
        )
        size = spec.disk_ceiling if is_new and time.monotonic() >= self._refused_until else 0
        try:
            return _create(connection, make_payload(quota=size if is_new else None), spec.name)
        except EngineRefusedError as error:
            if not size or "no quota support" not in str(error).lower():
                raise
            self._refused_until = time.monotonic() + ASK_AGAIN_AFTER
            return _create(connection, make_payload(quota=0), spec.name)


def _create(connection: Connection, payload: dict[str, Any], name: str) -> str:
    with connection.call() as client, understand_answer():
        return str(client.create_container_from_config(payload, name)["Id"])
