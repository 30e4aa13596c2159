"""Stops, holds and removes the services of a key."""

import time
from collections.abc import Callable, Collection
from contextlib import suppress

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineUnavailableError, StillStoppingError
from containers.identity import is_labelled, is_ours
from containers.outbound.call_limits import seconds_left
from containers.swarm.nodes.nodes import list_nodes
from containers.swarm.services.secrets import Secrets
from containers.swarm.services.services import Services
from containers.swarm.tasks.job_containers import remove_job_containers
from containers.swarm.tasks.tasks import Service, observe
from containers.vocabulary import GENERATION_LABEL, PROJECT_LABEL, QUARANTINE_LABEL, ContainerState, Observation

STOP_MARGIN = 15.0
"""Seconds for a Swarm to end a task after the agent's own time. Its nodes may need two of them."""

LOOK = 1.0
"""Seconds reserved for a last look at the service if the caller has less time than the agent needs."""

_ASK_EVERY = 0.1
_PAUSES = (0.0, 0.2, 0.4, 0.8, 1.6, 3.2)

SILENT = "The agent's node does not answer."
STILL_STOPPING = "The agent is still stopping. It is killed if it has not stopped when its time is over."
STILL_UP = "The Swarm could not stop the agent: its node does not answer ({})."


class Verbs:
    def __init__(
        self, connection: Connection, services: Services, secrets: Secrets, lost: Callable[[], frozenset[str]]
    ) -> None:
        self._connection = connection
        self._services = services
        self._secrets = secrets
        self._lost = lost

    def stop_key(self, key: str, *, timeout: int, leave_lost: bool = False) -> Observation | None:
        """Stops our services of this key. Returns the final state of the only one, or None if there were several."""
        ours = self._services.ours(key)
        ended = [self.stop(service, timeout=timeout, leave_lost=leave_lost) for service in ours]
        return ended[0] if len(ended) == 1 else None

    def stop(self, service: Service, *, timeout: int, leave_lost: bool = False) -> Observation | None:
        """Stops the service's tasks on all nodes. Returns the final state, or None if none ran or the service is gone.

        With `leave_lost` it does not wait for nodes that the Swarm considers dead, whose agents it runs elsewhere
        anyway. It does wait for nodes that only Berth cannot reach, because their agents may still run.
        """
        was_up = any(run.may_live for run in service.runs)
        try:
            if service.is_wanted:
                self._services.hold(service.service_id)
            now = self._await_end(service, timeout, leave_lost=leave_lost) if was_up or service.is_wanted else service
            if now is not None and (service.is_wanted or was_up):
                self._services.empty(service.service_id)
                now = self._services.look_up(service.service_id)
        except MissingError:
            return None
        return observe(now, lost=self._lost()) if was_up and now is not None else None

    def _await_end(self, service: Service, timeout: int, *, leave_lost: bool) -> Service | None:
        """Waits for the end. Raises an error if processes of the service may still run after that."""
        left, patience = seconds_left(), timeout + STOP_MARGIN
        is_cut = left is not None and left - LOOK < patience
        until = time.monotonic() + (max(LOOK, left - LOOK) if is_cut and left is not None else patience)
        while True:
            now = self._services.look_up(service.service_id)
            living = [run.node for run in now.runs if run.may_live] if now else []
            if not living or (leave_lost and not set(living) - self._given_up()):
                return now
            answering = set(living) - self._lost()
            if not answering and not leave_lost:
                raise self._still_up(living)
            if time.monotonic() >= until:
                is_ending = is_cut and answering
                raise StillStoppingError(STILL_STOPPING) if is_ending else self._still_up(living)
            time.sleep(_ASK_EVERY)

    def _given_up(self) -> set[str]:
        """Returns the nodes that the Swarm itself considers dead."""
        return {node.node_id for node in list_nodes(self._connection) if node.is_down}

    def _still_up(self, nodes: Collection[str]) -> EngineUnavailableError:
        names = [node.name for node in list_nodes(self._connection) if node.node_id in nodes]
        return EngineUnavailableError(STILL_UP.format(", ".join(names)[:80] or "it has left the Swarm"))

    def remove_key(self, key: str, *, volumes: bool) -> None:
        """Removes our services of this key and their secrets, and with `volumes` what of the state can be reached."""
        ours = self._services.ours(key)
        for service in ours:
            self._services.remove(service)
        self.await_removed(key, {service.service_id for service in ours})
        self._secrets.remove(key)
        if volumes:
            self.remove_volumes(key)

    def await_removed(self, key: str, services: Collection[str] = ()) -> None:
        """Waits until no process of a removed service of this key runs on any node in contact with the Swarm.

        A Swarm removes a service before its tasks have ended. This waits for the tasks of all our removed services of
        this key, even those removed earlier, and for the tasks of these `services`.
        """
        until: float | None = None
        while left := self._services.left_behind(key, services):
            if not {task.node for task in left} - self._given_up():
                return
            if until is None:
                patience, mine = max(task.grace for task in left) + STOP_MARGIN, seconds_left()
                until = time.monotonic() + (patience if mine is None else min(patience, mine - LOOK))
            if time.monotonic() >= until:
                raise self._still_up({task.node for task in left})
            time.sleep(_ASK_EVERY)

    def remove_volumes(self, key: str, *, generation: int | None = None) -> None:
        """Removes the volumes on the node that we are connected to; with `generation` only those that this deploy
        created.
        """
        chosen = [f"{PROJECT_LABEL}={key}"]
        with self._connection.call() as client, understand_answer():
            rows = client.volumes(filters={"label": chosen})["Volumes"] or []
            names = [
                str(row["Name"])
                for row in rows
                if is_ours(row["Labels"] or {})
                and (generation is None or row["Labels"].get(GENERATION_LABEL) == str(generation))
            ]
        for name in names:
            self.remove_volume(name)

    def remove_volume(self, name: str) -> None:
        """Removes it on the node that we are connected to, if it is there.

        Retries, because the container of a task that has just ended may keep the volume in use for a moment, and that
        of a job until its node removes it.
        """
        *pauses, last = _PAUSES
        for pause in pauses:
            time.sleep(pause)
            with suppress(MissingError, ConflictError), self._connection.call() as client:
                client.remove_volume(name)
                return
            if not self._has_volume(name):
                return
            remove_job_containers(self._connection, name)
        time.sleep(last)
        # A driver's volume has been emptied by a job whose container may still keep it in use.
        is_empty = (ConflictError,) if settings.BERTH_SWARM_VOLUME_DRIVER else ()
        with suppress(MissingError, *is_empty), self._connection.call() as client:
            client.remove_volume(name)

    def _has_volume(self, name: str) -> bool:
        with suppress(MissingError), self._connection.call() as client:
            client.inspect_volume(name)
            return True
        return False

    def quarantine_key(self, key: str, *, timeout: int, retire: Callable[[Observation], None], since: str) -> None:
        """Stops our services of this key permanently and removes their credentials. The services and states stay."""
        for service in self._services.of_key(key):
            if not is_labelled(service.labels):
                continue
            self.stop(service, timeout=timeout)
            if QUARANTINE_LABEL in service.labels:
                continue
            seen = observe(service)
            if seen.state is not ContainerState.CREATED:
                retire(seen)
            with suppress(MissingError):
                self._services.quarantine(service.service_id, since)
        self._secrets.remove(key)
