"""Starts, stops and removes single containers and volumes on Docker."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from containers.docker.drift import telling_of_address
from containers.docker.lookup import Lookup
from containers.docker.networks import endpoints
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, EngineFailedError, MissingError, is_timeout
from containers.engine.lists import Prefetch
from containers.errors import EngineRefusedError, EngineUnavailableError, NameTakenError, StillStoppingError
from containers.identity import container_name, is_labelled, is_of_another, is_ours
from containers.outbound.call_limits import seconds_left, time_limit
from containers.vocabulary import QUARANTINE_LABEL, ContainerSpec, ContainerState, Observation
from containers.volume_containers import keeper_payload

STOP_MARGIN = 5.0
"""Seconds for the engine to answer a stop, in addition to the agent's stop timeout."""

_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
LOOK = 2.0
"""Seconds reserved for a look at the container if the caller has less time than the agent's stop timeout."""

STILL_STOPPING = "The agent is still stopping. It is killed if it has not stopped when its time is over."
STILL_UP = "The container engine could not stop the container."


class Containers:
    """The steps of the engine's commands.

    A container is looked up by its labels and then changed by id, so that no other container is affected.
    """

    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup

    def free_name(self, spec: ContainerSpec) -> None:
        """Renames another container of ours to its own name again, if someone has given it the name of this spec."""
        found = self._lookup.look_up(spec.name)
        if found is None or not is_of_another(found, spec):
            return
        own = container_name(found.key)
        for name in (own, f"{own}-{found.container_id[:8]}"):
            with suppress(NameTakenError), self._connection.call(about_one=True) as client:
                client.rename(found.container_id, name)
                return

    def start_found(self, found: Observation) -> None:
        """Starts a container that is not up. Raises `AddressUnusableError`."""
        with telling_of_address(found.labels):
            endpoints.start(self._connection, found.container_id)

    def stop_key(self, key: str, *, timeout: int, prefetch: Prefetch = list) -> Observation | None:
        """Stops our containers of this key. Returns the final state of the only one, or None if there were several."""
        listed = [found for found in prefetch() if is_ours(found.labels)]
        ended = self._stop_all(listed, timeout=timeout)
        is_gone = ended == [None] and listed[0].is_up
        if not listed or is_gone:  # another may be in its place
            ended = self._stop_all(self._lookup.find_all(key), timeout=timeout)
        return ended[0] if len(ended) == 1 else None

    def _stop_all(self, listed: list[Observation], *, timeout: int) -> list[Observation | None]:
        return [self.stop_found(self._exactly(each), timeout=timeout) for each in listed]

    def _exactly(self, listed: Observation) -> Observation:
        """Returns the container's current state. A list has what the engine last saved: an exited one may be up."""
        return listed if listed.is_up else self._lookup.look_up(listed.container_id) or listed

    def stop_found(self, found: Observation, *, timeout: int, is_confirmed: bool = True) -> Observation | None:
        """Stops the container. Raises an error if its processes may still run after that.

        Returns its state afterwards, or None if it is gone or was not up. Without `is_confirmed`, the engine's word is
        enough, and the caller finds out whether the container is down.
        """
        if not found.is_up:
            return None
        if found.state is ContainerState.PAUSED:
            self._unpause(found)
        patience, left = timeout + STOP_MARGIN, seconds_left()
        is_cut = left is not None and left - LOOK < patience
        try:
            limit = max(LOOK, left - LOOK) if is_cut and left is not None else patience
            with suppress(MissingError), self._connection.call(limit, may_time_out=is_cut, about_one=True) as client:
                client.stop(found.container_id, timeout=timeout)
        except EngineUnavailableError as error:
            timed_out = is_cut and is_timeout(error.__cause__ or error)
            return self._confirm_down(found, StillStoppingError(STILL_STOPPING) if timed_out else error)
        return self._confirm_down(found, EngineRefusedError(STILL_UP)) if is_confirmed else None

    def remove_key(self, key: str, *, volumes: bool, free: Callable[[], None] = lambda: None) -> None:
        """Removes our containers of this key, and with `volumes` their volumes. A missing one is no error.

        `free` removes our helper containers that use the volumes.
        """
        refusal: ConflictError | None = None
        for pause in _PAUSES:
            time.sleep(pause)
            for found in self._lookup.find_all(key):
                self.remove_found(found)
            if volumes:
                free()
            try:
                for volume in self._lookup.find_volumes(key) if volumes else ():
                    self.remove_known_volume(volume)
            except ConflictError as error:
                refusal = error  # in use: a superseded deploy has just created its container, and will remove it
            else:
                return
        if refusal is not None:
            raise refusal

    def remove_found(self, found: Observation, *, force: bool = True) -> None:
        """Removes the container, but not the volumes of its state and its secrets."""
        try:
            with suppress(MissingError), self._connection.call(about_one=True) as client:
                client.remove_container(found.container_id, v=True, force=force)
        except (ConflictError, EngineFailedError) as error:
            if not self._is_removed_by_another(found):
                raise EngineRefusedError(str(error)) from error
        except EngineUnavailableError:
            if self._lookup.look_up(found.container_id) is not None:
                raise

    def remove_down(self, found: Observation) -> bool:
        """Removes a container that should not be up. Returns False if it is not certain that it is gone."""
        try:
            with suppress(MissingError), self._connection.call(about_one=True) as client:
                client.remove_container(found.container_id, v=True, force=False)
        except (ConflictError, EngineUnavailableError):
            return False
        return True

    def _is_removed_by_another(self, found: Observation) -> bool:
        """Returns whether the container disappears within a few seconds. Docker refuses to remove it a second time."""
        for pause in _PAUSES:
            time.sleep(pause)
            if self._lookup.look_up(found.container_id) is None:
                return True
        return False

    def quarantine_key(self, key: str, *, timeout: int, retire: Callable[[Observation], None]) -> None:
        """Replaces each container of this key that has our id with a container that only keeps the state."""
        for found in map(self._exactly, self._lookup.list_key(key)):
            if not is_labelled(found.labels):
                continue
            self.stop_found(found, timeout=timeout)
            if QUARANTINE_LABEL not in found.labels:
                if found.state is not ContainerState.CREATED:
                    retire(found)
                self._replace_by_keeper(found)
        for volume in self._lookup.find_secrets(key, belong=is_labelled):
            self.remove_volume(volume)

    def _replace_by_keeper(self, found: Observation) -> None:
        """Removes the container, which keeps its credentials in use, and creates one that only keeps the state."""
        image, state = self._lookup.read_image(found.container_id), self._lookup.find_data_volume(found.key)
        self.remove_found(found)
        if not (image and state):
            return
        since = datetime.now(UTC).isoformat(timespec="seconds")
        payload = keeper_payload(image=image, labels=found.labels, state=state, since=since)
        with suppress(EngineRefusedError), self._connection.call() as client:
            client.create_container_from_config(payload, found.name)

    def remove_volume(self, volume: str, *, generation: int | None = None) -> None:
        """Removes the volume if it exists, and with `generation` only if that generation's deploy created it.

        Raises `EngineRefusedError` if the volume of this name is not ours.
        """
        if self._lookup.has_volume(volume, generation=generation):
            self.remove_known_volume(volume)

    def remove_known_volume(self, volume: str) -> None:
        """Removes a volume that is ours. A missing one is no error."""
        with suppress(MissingError), self._connection.call() as client:
            client.remove_volume(volume)

    def _unpause(self, found: Observation) -> None:
        """Unpauses the container, because a paused process cannot handle a signal. It may be unpaused already."""
        with suppress(MissingError, ConflictError, EngineFailedError), self._connection.call(about_one=True) as client:
            client.unpause(found.container_id)

    def _confirm_down(self, found: Observation, error: Exception) -> Observation | None:
        """Looks again, and returns the state. Raises the error if the container is still up."""
        with time_limit(STOP_MARGIN):
            now = self._lookup.look_up(found.container_id)
        if now is not None and now.is_up:
            raise error
        return now
