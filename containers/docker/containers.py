"""Looks up, starts, stops and removes single containers and volumes on Docker."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.conf import settings

from containers.docker.observations import Details, read_details
from containers.docker_api.client import Connection
from containers.docker_api.errors import (
    ConflictError,
    EngineFailedError,
    MissingError,
    understand_answer,
)
from containers.docker_api.transport import time_limit
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.vocabulary import INSTANCE_LABEL, ContainerState, Observation

STOP_MARGIN = 5.0
"""Seconds for the engine to answer a stop, after the time that the agent has for it."""

_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
STILL_UP = "The container engine could not stop the container."


class Containers:
    """The steps of the engine's verbs.

    A container is looked up by name and then changed by id, so that no other container of the name is hit.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(self, name_or_id: str) -> Details | None:
        """The container, also one that is not ours, or None where Docker answers 404."""
        try:
            with self._connection.call() as client:
                answer: dict[str, Any] = client.inspect_container(name_or_id)
        except MissingError:
            return None
        details = read_details(answer)
        # Docker also finds a container by the beginning of its id.
        is_exact = name_or_id in {details.observation.name, details.observation.container_id}
        return details if is_exact else None

    def look_up(self, name_or_id: str) -> Observation | None:
        details = self.read(name_or_id)
        return details.observation if details else None

    def find_ours(self, name: str) -> Details | None:
        details = self.read(name)
        return details if details and is_ours(details.observation) else None

    def start_found(self, found: Observation) -> None:
        """Starts a container that is not up."""
        with self._connection.call() as client:
            client.start(found.container_id)

    def stop_found(self, found: Observation, *, timeout: int) -> None:
        """Stops the container. Raises where processes of it may still run after that."""
        if not found.is_up:
            return
        if found.state is ContainerState.PAUSED:
            self._unpause(found)
        try:
            with suppress(MissingError), self._connection.call(timeout + STOP_MARGIN) as client:
                client.stop(found.container_id, timeout=timeout)
        except EngineUnavailableError as error:
            self._confirm_down(found, error)
        else:
            self._confirm_down(found, EngineRefusedError(STILL_UP))

    def remove_name(self, name: str, *, volumes: Sequence[str]) -> None:
        """Removes our container of this name and these volumes. A missing one is no error."""
        refusal: ConflictError | None = None
        for pause in _PAUSES:
            time.sleep(pause)
            found = self.find_ours(name)
            if found is not None:
                self.remove_found(found.observation)
            try:
                for volume in volumes:
                    self.remove_volume(volume)
            except ConflictError as error:
                refusal = error  # in use: a deploy that has lost has just made its container, and will remove it
            else:
                return
        if refusal is not None:
            raise refusal

    def remove_found(self, found: Observation, *, force: bool = True) -> None:
        """Removes the container, but not the volumes of its state and its secrets."""
        try:
            with suppress(MissingError), self._connection.call() as client:
                client.remove_container(found.container_id, v=True, force=force)
        except (ConflictError, EngineFailedError) as error:
            if not self._is_removed_by_another(found):
                raise EngineRefusedError(str(error)) from error
        except EngineUnavailableError:
            if self.look_up(found.container_id) is not None:
                raise

    def _is_removed_by_another(self, found: Observation) -> bool:
        """Whether the container disappears within some seconds. Docker refuses a removal while another one goes on."""
        for pause in _PAUSES:
            time.sleep(pause)
            if self.look_up(found.container_id) is None:
                return True
        return False

    def has_volume(self, volume: str) -> bool:
        """Whether we have the volume. Raises `EngineRefusedError` where one of this name is not ours."""
        try:
            with self._connection.call() as client:
                found = client.inspect_volume(volume)
        except MissingError:
            return False
        with understand_answer():
            is_foreign = (found["Labels"] or {}).get(INSTANCE_LABEL) != settings.BERTH_INSTANCE
        if is_foreign:
            message = f"A volume that is not ours is called {volume}. Remove or rename it."
            raise EngineRefusedError(message)
        return True

    def remove_volume(self, volume: str) -> None:
        """Removes the volume where it exists. Raises `EngineRefusedError` where one of this name is not ours."""
        if self.has_volume(volume):
            with suppress(MissingError), self._connection.call() as client:
                client.remove_volume(volume)

    def _unpause(self, found: Observation) -> None:
        """A paused process cannot receive a signal. Not an error where somebody else has unpaused it already."""
        with suppress(MissingError, ConflictError, EngineFailedError), self._connection.call() as client:
            client.unpause(found.container_id)

    def _confirm_down(self, found: Observation, error: Exception) -> None:
        """Looks again, and raises the error where the container is still up."""
        with time_limit(STOP_MARGIN):
            now = self.look_up(found.container_id)
        if now is not None and now.is_up:
            raise error


def is_ours(found: Observation) -> bool:
    return found.labels.get(INSTANCE_LABEL) == settings.BERTH_INSTANCE
