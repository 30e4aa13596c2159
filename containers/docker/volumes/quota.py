"""Sets a hard limit on an agent's state, if the engine's volumes support one.

They do if Docker's directory is on a file system with quotas for directories: XFS, mounted with `pquota`. Docker does
not say whether it is, and otherwise refuses a volume with a size. So the first deploy finds out.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.conf import settings

from containers.credential_digest import digest_credentials
from containers.docker.drift import wanted_policy
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.hardening import container_payload
from containers.identity import gateway_network_name, network_name
from containers.vocabulary import ContainerSpec

ASK_AGAIN_AFTER = 3600.0
"""Seconds after a refusal until the next attempt. The operator may have moved Docker's directory."""


class HardQuota:
    """Remembers whether the engine supports quotas. Serves all threads of a process."""

    def __init__(self) -> None:
        self._refused_until = 0.0

    def create(
        self, connection: Connection, spec: ContainerSpec, *, state: str, is_new: bool, places: Sequence[str] = ()
    ) -> str:
        """Creates the container, and with it the volume `state` if that `is_new`. Returns the container's id.

        `places`: see `container_payload`.
        """
        make_payload = partial(
            container_payload,
            spec,
            network=network_name() if spec.address is None else gateway_network_name(),
            runtime=settings.BERTH_CONTAINER_RUNTIME,
            state=state,
            restart_policy=wanted_policy(),
            name_servers=settings.BERTH_DNS,
            places=places,
            digest=digest_credentials(spec),
        )
        if not is_new:
            return _create(connection, make_payload(quota=None), spec.name)
        return self.bounded(spec.disk_ceiling, lambda size: _create(connection, make_payload(quota=size), spec.name))

    def bounded(self, size: int, create: Callable[[int], str]) -> str:
        """Calls `create` with the size limit of a new volume, or with 0 for no limit, and returns its result."""
        if not size or time.monotonic() < self._refused_until:
            return create(0)
        try:
            return create(size)
        except EngineRefusedError as error:
            if "no quota support" not in str(error).lower():
                raise
            self._refused_until = time.monotonic() + ASK_AGAIN_AFTER
            return create(0)


def size_of_volume(connection: Connection, volume: str) -> int:
    """Returns the size limit of the volume in bytes, or 0 if there is no limit or no such volume."""
    try:
        with connection.call() as client, understand_answer():
            return int((client.inspect_volume(volume)["Options"] or {}).get("size", 0))
    except MissingError:
        return 0


def _create(connection: Connection, payload: dict[str, Any], name: str) -> str:
    with connection.call() as client, understand_answer():
        return str(client.create_container_from_config(payload, name)["Id"])
