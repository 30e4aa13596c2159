"""The engine of a Docker Swarm. `DOCKER_HOST` names one of its managers."""

import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.conf import settings

from containers.docker_api.report_streams import ReportStreams
from containers.docker_api.usable_images import UsableImages
from containers.engine.images import HostFacts
from containers.engine.lists import NO_RUNS, Keys, Prefetch, Runs
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.identity import gateway_network_name, network_name
from containers.outbound.call_limits import time_limit
from containers.swarm.confinement.confinement import Confinement
from containers.swarm.gateway.verbs import GatewayVerbs
from containers.swarm.images.image_verbs import ImageVerbs
from containers.swarm.images.images import name_for_nodes
from containers.swarm.nodes.liveness import Liveness
from containers.swarm.nodes.nodes import find_ready, list_nodes, read_version
from containers.swarm.observation.events import watch
from containers.swarm.observation.logs import Logs
from containers.swarm.observation.observations import Observations
from containers.swarm.observation.usage import Usages
from containers.swarm.placement.placement import Placement, place
from containers.swarm.services.deploy import Deployment
from containers.swarm.services.secrets import Secrets
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import Verbs
from containers.swarm.states.copies import Copies
from containers.swarm.states.disk_meter import DiskMeter
from containers.swarm.states.shared_folders import make_folder, volume_driver
from containers.swarm.states.state_verbs import StateVerbs
from containers.swarm.states.state_writer import Memory
from containers.swarm.states.volume_cleanup import VolumeCleanup
from containers.swarm.tasks.service_spec import in_memory_at, service_payload
from containers.vocabulary import INSTANCE_LABEL, ContainerSpec, DiskUse, EngineEvent, Observation, Usage, Volume


class SwarmEngine(GatewayVerbs, StateVerbs, ImageVerbs):
    """Implements `containers.engine.Engine`. One object serves all threads of a process and its forks."""

    def __init__(self) -> None:
        super().__init__()
        self._services = Services(self._connection)
        self._secrets = Secrets(self._connection)
        self._lost = Liveness(partial(list_nodes, self._connection)).lost
        self._verbs = Verbs(self._connection, self._services, self._secrets, self._lost)
        self._logs = Logs(self._connection, self._services, self._lost)
        self._looks = Observations(self._connection, self._services, self._logs, self._lost)
        self._memory = Memory(self._connection)
        self._emptying = VolumeCleanup(self._connection, self._services, self._verbs, self._ensure_network)
        self._copies = Copies(self._connection, self._services, self._verbs, self._lost, self._ensure_network)
        self._disks = DiskMeter(self._connection, self._services, self._lost, self._ensure_network)
        self._usages = Usages(self._connection, self._services, self._way_to, self._lost)
        self._confinement = Confinement(self._connection)
        self._images = UsableImages(self._connection)

    def ping(self) -> None:
        """Reads the Swarm itself: a manager that has lost the others still answers pings, but knows nothing."""
        with self._connection.call() as client:
            client.inspect_swarm()

    def read_deadline(self) -> AbstractContextManager[None]:
        return self._connection.read_deadline()

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        return time_limit(seconds)

    def started_at(self) -> datetime | None:
        return None  # a Swarm exists as long as any of its managers does

    def describe_host(self) -> HostFacts:
        """Returns the totals of all nodes that take agents, and which nodes are ready."""
        known = list_nodes(self._connection)
        nodes = [node for node in known if node.is_active and not node.is_down]
        version = read_version(self._connection)
        memory, cpus = sum(node.memory for node in nodes) or None, sum(node.cpus for node in nodes) or None
        lacks = tuple(self._confinement.missing())
        return HostFacts(memory=memory, cpus=cpus, version=version, lacks=lacks, nodes=find_ready(known))

    def deploy(
        self, spec: ContainerSpec, *, confirm: Callable[[], bool], seen: Observation | None = None,
        retire: Callable[[Observation], None] = lambda _: None, on_missing_state: Callable[[], None] = lambda: None,
    ) -> Observation:  # fmt: skip
        api = self._confinement.require()
        network = gateway_network_name() if spec.address else network_name()
        self._ensure_network(network)
        places = self._images.require(spec.image, asks=True).places
        image, copy = name_for_nodes(self._connection, spec.image), self._copies.before_start(spec.key)
        where = place(self._connection, self._services, spec, image[0], copy)
        make_folder(self._connection, spec, image[1])
        make = partial(self._make, spec, network, image, api, where, places)
        return Deployment(self._services, self._secrets, self._verbs, spec, make, retire, self._lost).run(confirm)

    def _make(
        self, spec: ContainerSpec, network: str, image: tuple[str, str], api: tuple[int, int], placement: Placement,
        places: Sequence[str], secrets: dict[str, str],
    ) -> str:  # fmt: skip
        payload = service_payload(
            spec, image=image, network=network, secrets=secrets, api=api, volume=volume_driver(spec.name),
            constraints=placement.constraints, name_servers=settings.BERTH_DNS,
        )  # fmt: skip
        payload["TaskTemplate"]["ContainerSpec"]["Mounts"] += in_memory_at(places)
        return self._services.create(payload, placement.notes)

    def prefetch(self, key: str, container_id: str = "") -> Prefetch:
        return list  # a stop looks by itself: while one ends, its tasks change

    def stop(self, key: str, *, timeout: int, prefetch: Prefetch = list, for_good: bool = False) -> Observation | None:
        """Stops the service. `timeout` only limits the wait: the agent has the time that its service defines."""
        return self._verbs.stop_key(key, timeout=timeout, leave_lost=for_good)

    def inspect(self, key: str, *, briefly: bool = False, of: str = "") -> Observation | None:
        return self._looks.inspect(key, briefly=briefly)

    def look_up(self, container_id: str) -> Observation | None:
        return self._looks.look_up(container_id)

    def observe(
        self, within: Mapping[str, str], *, others: bool = False, briefly: Keys = (), doubted: Keys = (),
        runs: Runs = NO_RUNS,
    ) -> list[Observation]:  # fmt: skip
        return self._looks.observe(self._of_instance(within), others=others, briefly=briefly)

    def realign(self, key: str) -> list[str]:
        """Does nothing: a Swarm's tasks are always on the network of their service."""
        return []

    def quarantine(self, key: str, *, timeout: int, retire: Callable[[Observation], None] = lambda _: None) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        self._verbs.quarantine_key(key, timeout=timeout, retire=retire, since=since)

    def highest_user(self, *, block: Collection[int] = ()) -> int | None:
        return self._looks.highest_user(block)

    def has_user(self, user: int) -> bool:
        return self._looks.has_user(user)

    def list_volumes(self, within: Mapping[str, str]) -> list[Volume]:
        """Returns the volumes on the node that we are connected to, and secrets in the form of volumes."""
        own = self._of_instance(within)
        return [*self._looks.list_volumes(own), *self._secrets.list_labels(own)]

    def logs(
        self, key: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
    ) -> Iterator[bytes]:
        return self._logs.read(key, tail=tail, since=since, follow=follow, of=of)

    def read_secrets(self, key: str) -> list[str]:
        if not any(service.has_credentials for service in self._services.ours(key)):
            return []
        raise EngineRefusedError("A Swarm does not reveal the contents of a secret.")

    def stats(self, key: str) -> Usage | None:
        return self._usages.of_key(key)

    def usage_of(self, container_id: str, *, started_at: datetime | None) -> Usage | None:
        return self._usages.of_id(container_id)

    def measure_disks(self, keys: Mapping[str, int], *, images: Collection[str]) -> Iterator[tuple[str, DiskUse]]:
        """Measures with an image that each node has, and none of these `images`."""
        return self._disks.measure(keys)

    def events(
        self, within: Mapping[str, str], *, timeout: float, after: datetime | None = None
    ) -> Iterator[EngineEvent]:
        return watch(partial(self._services.list_labels, self._of_instance(within)), silence=timeout, after=after)

    def find_newest_event(self, within: Mapping[str, str], *, since: datetime, until: datetime) -> datetime | None:
        raise EngineUnavailableError("A Swarm does not report what has happened to a task.")

    def report_streams(self) -> ReportStreams:
        return ReportStreams(self._open_socket, kind="services")

    def _open_socket(self) -> tuple[socket.socket, str]:
        with self._connection.call() as client:
            return client.open_socket(), client.api_version

    @staticmethod
    def _of_instance(within: Mapping[str, str]) -> dict[str, Any]:
        return {**within, INSTANCE_LABEL: settings.BERTH_INSTANCE}
