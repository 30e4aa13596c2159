"""Writes an agent's state into its volume on the node that Berth is connected to, piece by piece."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError
from containers.hardening import data_volume
from containers.identity import container_name
from containers.outbound.call_limits import time_of_its_own
from containers.swarm.nodes.nodes import find_own_node
from containers.swarm.notes.awaited_states import AwaitedStates
from containers.swarm.notes.state_locations import StateLocations
from containers.volume_containers import CARRIER, HANDOVER_LABEL, carrier_payload, handover_name

SILENCE, WRITE_LIMIT, CLEANING = 60.0, 6 * 3600.0, 5.0
"""Seconds without a sign of the engine, for writing a volume of any size, and for removing the container that wrote
it."""

BY_DRIVER = "BERTH_SWARM_VOLUME_DRIVER says where agents keep their memory: copy it there yourself."


class Memory:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arrivals = AwaitedStates(connection)
        self._traces = StateLocations(connection)

    def write(self, key: str, *, volume: str, labels: Mapping[str, str], image: str, pieces: Iterable[bytes]) -> None:
        """Raises `EngineRefusedError` if the volume exists already or if a driver keeps the volumes.

        The agent does not start before its state is complete, even if this process is killed.
        """
        if settings.BERTH_SWARM_VOLUME_DRIVER:
            raise EngineRefusedError(BY_DRIVER)
        if self._has_volume(volume):
            raise EngineRefusedError(f"The volume {volume} already exists.")
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
            with time_of_its_own(CLEANING):  # otherwise it would keep the volume in use
                _remove(self._connection, carrier)

    def is_here(self, key: str) -> bool:
        """Whether the node that we are connected to has a volume of this agent."""
        return self._has_volume(data_volume(container_name(key)))

    def _has_volume(self, volume: str) -> bool:
        with suppress(MissingError), self._connection.call() as client:
            client.inspect_volume(volume)
            return True
        return False

    def release(self, key: str) -> None:
        """Removes the container that a killed process has left, because it keeps the volume in use."""
        remove_left(self._connection, handover_name(container_name(key)))

    def forget(self, key: str) -> None:
        """Deletes the notes of where the state was, once it is gone. A state that is still expected stays expected."""
        self._traces.forget(key)

    def _remove_volume(self, volume: str) -> None:
        with suppress(MissingError), self._connection.call() as client:
            client.remove_volume(volume)


def remove_left(connection: Connection, own: str) -> None:
    """Removes a container of this name that a killed process has left, together with its unnamed volume."""
    with suppress(MissingError), connection.call(about_one=True) as client, understand_answer():
        found = client.inspect_container(own)
        is_left = str((found["Config"].get("Labels") or {}).get(HANDOVER_LABEL, "")).endswith(CARRIER)
        container = str(found["Id"])
        if not is_left:
            return
        _remove(connection, container)


def _remove(connection: Connection, container: str) -> None:
    with suppress(MissingError, ConflictError), connection.call(about_one=True) as client:
        client.remove_container(container, v=True, force=True)  # a named volume stays
