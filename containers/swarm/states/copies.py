"""Copies agents' states on their nodes before an update of the image, and restores them if it is undone.

The copy stays on the node that has the state, in a volume of its own. With shared storage it is in a folder beside the
agent's own. Notes of the Swarm say where it is; while there is one, the agent starts only on its node.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.hardening import COPY, data_volume
from containers.identity import container_name, network_name, own_labels
from containers.swarm.nodes.nodes import Node, find_own_node
from containers.swarm.notes.copied_states import SHARED, CopiedStates, Copy
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import Verbs
from containers.swarm.states.copy_jobs import CopyJobs, Ended, check, time_for_job
from containers.swarm.states.copy_places import CopyPlaces
from containers.swarm.states.copy_programs import (
    COPY_PATH,
    DROP,
    KEEP,
    NO_COPY,
    RETURN,
    STATE_PATH,
    TOO_LARGE,
    job_payload,
)
from containers.swarm.states.shared_folders import make_copy_folder, volume_driver
from containers.vocabulary import PROJECT_LABEL
from containers.volume_containers import COPY_TOO_LARGE

ANY_SIZE = 1 << 62
"""Bytes that no archive has."""

STILL_RUNS = "The agent still runs, or nobody knows whether it does. Stop it first."


class _Job(NamedTuple):
    script: str
    arguments: list[str]
    reads_state: bool | None
    """None: it does not see the state. False: it writes the state and only reads the copy."""


class Copies:
    def __init__(
        self, connection: Connection, services: Services, verbs: Verbs, lost: Callable[[], frozenset[str]],
        ensure_network: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`lost` returns the nodes that do not answer."""
        self._connection = connection
        self._services = services
        self._verbs = verbs
        self._ensure_network = ensure_network
        self._notes = CopiedStates(connection)
        self._places = CopyPlaces(connection, services)
        self._jobs = CopyJobs(connection, lost)

    def keep(self, key: str, *, image: str, labels: Mapping[str, str], most: int) -> None:
        """See `KeepsStates.keep_copy`. Changes nothing if the node with the state is away, and says so."""
        place = self._places.find_state(key)
        former = self._notes.find(key)
        if former is not None and former.node != place:
            self.drop(key)
        if not place:
            return
        self._require_down(key, place)
        node = self._places.choose_node(place, key)
        self._jobs.end(key)
        program = self._places.choose_image(node, key, image)
        self._notes.begin(key, place, program)
        if place == SHARED:
            make_copy_folder(self._connection, key, image)
        size = most + 1 if most else ANY_SIZE
        job = _Job(KEEP, [str(time_for_job()), str(size)], reads_state=True)
        ended = self._run(job, key, node, program, labels)
        if ended.exit_code == TOO_LARGE:
            raise EngineRefusedError(COPY_TOO_LARGE.format(most >> 20))
        check(ended, node)
        self._notes.complete(key)

    def give_back(self, key: str) -> bool:
        """See `KeepsStates.return_copy`. Without the node that had it there is no copy."""
        copy = self._notes.find(key)
        if copy is None or not self._places.exists(copy.node):
            return False
        self._require_down(key, copy.node)
        node = self._places.choose_node(copy.node, key)
        self._jobs.end(key)
        program = self._places.choose_reader(node, copy)
        ended = self._run(_Job(RETURN, [str(time_for_job())], reads_state=False), key, node, program)
        if ended.exit_code == NO_COPY:
            return False
        check(ended, node)
        return True

    def drop(self, key: str) -> None:
        """Lets the agent run anywhere again, then removes the copy.

        On another node, its volume stays and is empty. Raises `EngineUnavailableError` if that node is away.
        """
        copy = self._notes.find(key)
        if copy is None:
            return
        self._notes.retract(key)
        for service in self._services.ours(key):
            self._services.unbind(service)
        if self._places.exists(copy.node):
            self._remove(key, copy)
        self._notes.forget(key)

    def before_start(self, key: str) -> Copy | None:
        """Returns the agent's copy, if there is one, once no job of a killed process changes its state any more."""
        copy = self._notes.find(key)
        if copy is not None:
            # A job on a lost node changes nothing on the node on which the agent starts.
            self._jobs.end(key, leave_lost=copy.node != SHARED)
        return copy

    def _remove(self, key: str, copy: Copy) -> None:
        own = copy.node == find_own_node(self._connection)
        node = None if own else self._places.choose_node(copy.node, key)
        self._jobs.end(key)
        if node is not None:
            program = self._places.choose_reader(node, copy)
            check(self._run(_Job(DROP, [], reads_state=None), key, node, program), node)
        if own or copy.node == SHARED:
            self._verbs.remove_volume(_copy_of(key))

    def _require_down(self, key: str, place: str) -> None:
        services = self._services.ours(key)
        runs = [*(run for each in services for run in each.runs if run.may_live), *self._services.left_behind(key)]
        if any(each.is_wanted for each in services) or any(place in {run.node, SHARED} for run in runs):
            raise EngineUnavailableError(STILL_RUNS)

    def _run(self, job: _Job, key: str, node: Node, image: str, labels: Mapping[str, str] | None = None) -> Ended:
        self._ensure_network(network_name())
        with self._connection.call() as client, understand_answer():
            api = client.read_api()
        labels = labels or {**own_labels(), PROJECT_LABEL: key}
        copy, state = _copy_of(key), container_name(key)
        mounts = [_mount(copy, copy, COPY_PATH, labels, read_only=job.reads_state is False)]
        if job.reads_state is not None:
            mounts.append(_mount(data_volume(state), state, STATE_PATH, labels, read_only=job.reads_state))
        payload = job_payload(job.script, job.arguments, key=key, node=node, image=image, mounts=mounts, api=api)
        return self._jobs.run(payload, node)


def _copy_of(key: str) -> str:
    return f"{container_name(key)}{COPY}"


def _mount(volume: str, folder: str, path: str, labels: Mapping[str, str], *, read_only: bool) -> dict[str, Any]:
    """`folder` is the name of its folder in storage that all nodes share."""
    driver = volume_driver(folder)
    options = {"NoCopy": True, "Labels": dict(labels), **({"DriverConfig": driver} if driver else {})}
    return {"Type": "volume", "Source": volume, "Target": path, "ReadOnly": read_only, "VolumeOptions": options}
