"""Fills the volume of an agent's state on the node that Berth speaks with, piece by piece."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings

from containers.call_limits import time_of_its_own
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError
from containers.hardening import data_volume
from containers.identity import container_name
from containers.swarm.arrivals import Arrivals
from containers.swarm.nodes import find_own_node
from containers.swarm.traces import NotedTraces
from containers.volume_containers import CARRIER, HANDOVER_LABEL, carrier_payload, handover_name

SILENCE, WRITE_LIMIT, CLEANING = 60.0, 6 * 3600.0, 5.0
"""Seconds without a sign of the engine, for a volume however large, and for removing what it was filled through."""

BY_DRIVER = "BERTH_SWARM_VOLUME_DRIVER says where agents keep what they remember: bring it there by yourself."


class Memory:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arrivals = Arrivals(connection)
        self._traces = NotedTraces(connection)

    def write(self, key: str, *, volume: str, labels: Mapping[str, str], image: str, pieces: Iterable[bytes]) -> None:
        """Raises `EngineRefusedError` where there is such a volume, or a driver has the volumes.

        Until all of it is there, the agent is not started, also where this process is killed.
        """
        if settings.BERTH_SWARM_VOLUME_DRIVER:
            raise EngineRefusedError(BY_DRIVER)
        if self._has_volume(volume):
            raise EngineRefusedError(f"There is a volume {volume} already.")
        own = handover_name(container_name(key))
        remove_left(self._connection, own)
        self._arrivals.expect([key])
        try:
            self._fill(own, carrier_payload(container_name(key), image=image, volume=volume, labels=labels), pieces)
        except BaseException:
            with time_of_its_own(CLEANING), suppress(EngineError):
                self._remove_volume(volume)
            raise
        self._arrivals.settle(key, home=find_own_node(self._connection))

    def _fill(self, own: str, payload: dict[str, Any], pieces: Iterable[bytes]) -> None:
        with self._connection.call() as client, understand_answer():
            carrier = str(client.create_container_from_config(payload, own)["Id"])
        try:
            with self._connection.call(WRITE_LIMIT, about_one=True) as client:
                client.put_pieces(carrier, "/", pieces, silence=SILENCE)
        finally:
            with time_of_its_own(CLEANING):  # or it would hold on to the volume
                _remove(self._connection, carrier)

    def is_here(self, key: str) -> bool:
        """Whether the node that we speak with has some of it."""
        return self._has_volume(data_volume(container_name(key)))

    def _has_volume(self, volume: str) -> bool:
        with suppress(MissingError), self._connection.call() as client:
            client.inspect_volume(volume)
            return True
        return False

    def release(self, key: str) -> None:
        """Removes what a process that was killed has left: it holds on to the volume."""
        remove_left(self._connection, handover_name(container_name(key)))

    def forget(self, key: str) -> None:
        """Where it was, once it has gone. What is awaited is awaited all the same."""
        self._traces.forget(key)

    def _remove_volume(self, volume: str) -> None:
        with suppress(MissingError), self._connection.call() as client:
            client.remove_volume(volume)


def remove_left(connection: Connection, own: str) -> None:
    """The container of this name, where a process that was killed has left it, with a volume that has no name."""
    with suppress(MissingError), connection.call() as client, understand_answer():
        found = client.inspect_container(own)
        is_left = str((found["Config"].get("Labels") or {}).get(HANDOVER_LABEL, "")).endswith(CARRIER)
        container = str(found["Id"])
        if not is_left:
            return
        _remove(connection, container)


def _remove(connection: Connection, container: str) -> None:
    with suppress(MissingError, ConflictError), connection.call() as client:
        client.remove_container(container, v=True, force=True)  # a volume with a name stays
