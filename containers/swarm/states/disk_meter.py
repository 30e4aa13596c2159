"""Measures what agents keep on the nodes' disks, with jobs of the Swarm that mount their volumes read-only.

A manager cannot read other nodes' disks. One job runs on one node at a time, and prints what it has counted.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any, NamedTuple

from django.conf import settings

from containers.agent_contract import DATA_PATH
from containers.docker_api.answers import read_volumes
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError
from containers.hardening import data_volume
from containers.identity import container_name, is_ours, network_name
from containers.swarm.nodes.nodes import find_own_node, list_nodes
from containers.swarm.notes.state_locations import last_place_of
from containers.swarm.services.services import Services
from containers.swarm.states.disk_images import DiskImages
from containers.swarm.states.disk_jobs import DiskJobs, State
from containers.swarm.tasks.tasks import Service
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, DiskUse, Volume

AT_ONCE = 16
"""Volumes that one job measures in parallel."""

NOTHING = DiskUse(used=0, files=0)

BY_DRIVER = "BERTH_SWARM_VOLUME_DRIVER says where agents keep their memory: limit its size there."


class Found(NamedTuple):
    """Where the states are, by the ids of nodes that can be asked, and the keys that have none."""

    states: Mapping[str, Sequence[State]]
    empty: Sequence[str]


class DiskMeter:
    """One thread at a time may call `measure`; any thread may call `give_way`."""

    def __init__(
        self, connection: Connection, services: Services, lost: Callable[[], frozenset[str]],
        ensure_network: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`lost` returns the nodes that do not answer."""
        self._connection = connection
        self._services = services
        self._lost = lost
        self._ensure_network = ensure_network
        self._images = DiskImages(connection)
        self._jobs = DiskJobs(connection)

    def measure(self, keys: Mapping[str, int]) -> Iterator[tuple[str, DiskUse]]:
        """See `Engine.measure_disks`. Leaves out what is on nodes that do not answer or take no tasks."""
        if settings.BERTH_SWARM_VOLUME_DRIVER:
            raise EngineRefusedError(BY_DRIVER)
        if not keys:
            return
        self._jobs.remove_left_behind()
        here = find_own_node(self._connection)
        volumes = self._volumes_here()
        services = self._services.list_labels({INSTANCE_LABEL: settings.BERTH_INSTANCE})
        found = self._find(keys, [each for each in services if is_ours(each.labels)], here, volumes)
        for key in found.empty:
            yield key, NOTHING
        if not found.states:
            return
        self._ensure_network(network_name())
        images = self._images.choose(services, found.states)
        queues = {node: _batches(states) for node, states in found.states.items() if node in images}
        for wave in zip_longest(*queues.values()):
            work = {node: states for node, states in zip(queues, wave, strict=True) if states}
            yield from self._measure_wave(work, images, keys)
            self._unmake(work.get(here, ()), volumes)

    def _measure_wave(
        self, work: Mapping[str, Sequence[State]], images: Mapping[str, str], most: Mapping[str, int]
    ) -> Iterator[tuple[str, DiskUse]]:
        """Measures these volumes together, or each alone on a node on which one of them prevents the job's start."""
        failed = yield from self._jobs.run(work, images, most)
        for node in failed:
            for state in work[node] if len(work[node]) > 1 else ():
                yield from self._jobs.run({node: [state]}, images, most)

    def give_way(self, key: str) -> None:
        """Ends the measurement of this key's state on our own node, where it would keep the volume in use."""
        self._jobs.remove_using(data_volume(container_name(key)))

    def _find(
        self, keys: Collection[str], services: Sequence[Service], here: str, volumes: Mapping[str, Volume]
    ) -> Found:
        newest = {
            each.labels.get(PROJECT_LABEL, ""): each for each in sorted(services, key=lambda each: each.generation)
        }
        nodes = {node.node_id for node in list_nodes(self._connection) if node.is_ready and node.is_active}
        states, empty = defaultdict(list), []
        for key in sorted(keys):
            service = newest.get(key)
            if service is None:
                if not self._services.state_locations.find(key).nodes:
                    empty.append(key)
                continue
            node, mount = last_place_of(service), _mount_of(service)
            if not mount or node is None or (node == here and mount["Source"] not in volumes):
                empty.append(key)
            elif node in nodes - self._lost():
                states[node].append(State(key, mount))
        return Found(states, empty)

    def _volumes_here(self) -> dict[str, Volume]:
        chosen = [f"{INSTANCE_LABEL}={settings.BERTH_INSTANCE}"]
        with self._connection.call() as client:
            found = read_volumes(client.volumes(filters={"label": chosen}))
        return {each.name: each for each in found if is_ours(each.labels)}

    def _unmake(self, states: Sequence[State], before: Mapping[str, Volume]) -> None:
        """Removes volumes that were removed on our own node just before, and that the job has created again.

        If an agent already uses the new volume, the engine refuses.
        """
        for name in (state.volume for state in states):
            with suppress(MissingError, ConflictError, EngineError), self._connection.call() as client:
                now = read_volumes({"Volumes": [client.inspect_volume(name)]})[0]
                if now.created_at != before[name].created_at:
                    client.remove_volume(name)


def _mount_of(service: Service) -> dict[str, Any]:
    with understand_answer():
        mounts = (service.spec["TaskTemplate"].get("ContainerSpec") or {}).get("Mounts") or []
        return next((dict(mount) for mount in mounts if mount["Target"] == DATA_PATH), {})


def _batches(states: Sequence[State]) -> list[Sequence[State]]:
    return [states[first : first + AT_ONCE] for first in range(0, len(states), AT_ONCE)]
