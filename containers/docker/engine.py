"""The engine of one Docker host, the one that `DOCKER_HOST` names."""

import socket
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from containers.docker.alignment import Alignment
from containers.docker.containers import Containers
from containers.docker.deploy import Deployment
from containers.docker.event_verbs import EventVerbs
from containers.docker.existing_containers import ExistingContainers
from containers.docker.gateway.verbs import GatewayVerbs
from containers.docker.image_verbs import ImageVerbs
from containers.docker.inspections import Inspections
from containers.docker.known_containers import KnownContainers
from containers.docker.logs import Logs
from containers.docker.lookup import Lookup
from containers.docker.networks.agents import describe_host, find_engine_start
from containers.docker.networks.name_limits import NameLimits
from containers.docker.secrets import read_secrets
from containers.docker.shutdown import ANSWERS_WITHIN, require_open, unless_it_ends
from containers.docker.volumes.data_directory import OwnDirectory
from containers.docker.volumes.disk_meter import DiskMeter
from containers.docker.volumes.handover import Handover, abandon_handover
from containers.docker.volumes.new_volumes import NewVolumes
from containers.docker.volumes.quota import HardQuota
from containers.docker.volumes.state import State
from containers.docker.volumes.state_verbs import StateVerbs
from containers.docker.volumes.users import Users
from containers.docker_api.errors import MissingError
from containers.docker_api.read_limits import start_in_thread
from containers.docker_api.report_streams import ReportStreams
from containers.docker_api.stats import Meter, read_usage
from containers.docker_api.usable_images import UsableImages
from containers.engine.images import HostFacts
from containers.engine.lists import NO_RUNS, Keys, Prefetch, Runs
from containers.errors import ImageMissingError
from containers.identity import is_ours
from containers.outbound.call_limits import time_limit
from containers.vocabulary import ContainerSpec, DiskUse, Observation, Usage, Volume


class DockerEngine(GatewayVerbs, StateVerbs, EventVerbs, ImageVerbs):
    """Implements `containers.engine.Engine`. One object serves all threads of a process and its forks."""

    def __init__(self, host: str = "") -> None:
        super().__init__(host)
        self._lookup = Lookup(self._connection)
        self._known = KnownContainers()
        self._containers = Containers(self._connection, self._lookup)
        self._meter = Meter()
        self._users = Users(self._connection, self._lookup)
        self._quota = HardQuota()
        self._images = UsableImages(self._connection)
        self._state = State(self._connection, self._lookup, self._quota, self._images)
        self._alignment = Alignment(self._connection, self._lookup)
        self._names = NameLimits(self._connection)
        self._new_volumes = NewVolumes()
        self._handover = partial(Handover, self._connection, self._lookup, OwnDirectory(), self._new_volumes)
        self._disks = DiskMeter(self._connection, self._lookup)
        self._logs = Logs(self._connection, self._lookup)
        self._inspections = Inspections(self._connection, self._lookup, self._logs.complete)

    def ping(self) -> None:
        with self._connection.call() as client:
            require_open(client)
            client.ping()

    def read_deadline(self) -> AbstractContextManager[None]:
        return self._connection.read_deadline()

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        return time_limit(seconds)

    def ensure_firewall(self) -> str | None:
        warning = self._egress.ensure()
        self._alignment.align_all()
        return warning

    def limit_names(self, containers: Collection[str]) -> str | None:
        return self._names.set_for(containers)

    def started_at(self) -> datetime | None:
        """Raises `EngineUnavailableError` if the engine is shutting down, because then it ends containers itself."""
        with self._connection.call(ANSWERS_WITHIN, about_one=True) as client:
            require_open(client)
        return find_engine_start(self._connection)

    def describe_host(self) -> HostFacts:
        return describe_host(self._connection)

    def deploy(
        self,
        spec: ContainerSpec,
        *,
        confirm: Callable[[], bool],
        retire: Callable[[Observation], None] = lambda _: None,
        on_missing_state: Callable[[], None] = lambda: None,
        seen: Observation | None = None,
    ) -> Observation:
        has_rules = self._admit(spec)

        def run(spec: ContainerSpec, seen: Observation | None = None) -> Observation:
            shared = self._connection, self._lookup, self._containers
            existing = ExistingContainers(self._lookup, self._containers, spec, self._images, retire, seen)
            deployment = Deployment(*shared, spec, existing, self._alignment.align, self._quota, self._handover)
            return deployment.run(lambda: has_rules() and confirm(), has_rules, on_missing_state)

        with unless_it_ends(self._connection):
            try:
                return self._known.note(run(spec, seen))
            except MissingError:
                if not self._restore_network(spec):
                    raise
                # The network was removed meanwhile. It is created again with the same bridge, so that the rules apply.
            except ImageMissingError:
                if not self._images.forget(spec.image):
                    raise
                # The image that had this name a moment ago is gone. Another one may have the name.
            return self._known.note(run(replace(spec, is_first=False)))

    def prefetch(self, key: str, container_id: str = "") -> Prefetch:
        return self._known.find(key, container_id) or start_in_thread(partial(self._lookup.list_key, key))

    def stop(self, key: str, *, timeout: int, prefetch: Prefetch = list, for_good: bool = False) -> Observation | None:
        return self._containers.stop_key(key, timeout=timeout, prefetch=prefetch)

    def remove(self, key: str, *, volumes: bool = False) -> None:
        if volumes:
            abandon_handover(self._lookup, self._containers, key)
        self._containers.remove_key(key, volumes=volumes, free=lambda: self._disks.give_way(key))

    def inspect(self, key: str, *, briefly: bool = False, of: str = "") -> Observation | None:
        found = self._lookup.find(key, of=of)
        if found and briefly and not found.observation.is_up:
            return found.observation
        return self._logs.complete(found) if found else None

    def look_up(self, container_id: str) -> Observation | None:
        found = self._lookup.read_now(container_id)
        return found.observation if found and is_ours(found.observation.labels) else None

    def quarantine(self, key: str, *, timeout: int, retire: Callable[[Observation], None] = lambda _: None) -> None:
        self._containers.quarantine_key(key, timeout=timeout, retire=retire)

    def observe(
        self, within: Mapping[str, str], *, others: bool = False, briefly: Keys = (), doubted: Keys = (),
        runs: Runs = NO_RUNS,
    ) -> list[Observation]:  # fmt: skip
        asked_at = datetime.now(UTC)
        listed = self._lookup.list_labels(self._of_instance(within))
        chosen = [each for each in listed if others or is_ours(each.labels)]
        return self._inspections.complete(chosen, briefly=briefly, doubted=doubted, runs=runs, asked_at=asked_at)

    def highest_user(self, *, block: Collection[int] = ()) -> int | None:
        return self._users.highest(block)

    def has_user(self, user: int) -> bool:
        return self._users.has(user)

    def realign(self, key: str) -> list[str]:
        return self._alignment.align_key(key)

    def list_volumes(self, within: Mapping[str, str]) -> list[Volume]:
        return [each for each in self._lookup.list_volumes(self._of_instance(within)) if is_ours(each.labels)]

    def logs(
        self, key: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
    ) -> Iterator[bytes]:
        return self._logs.read(key, tail=tail, since=since, follow=follow, of=of)

    def read_secrets(self, key: str) -> list[str]:
        found = self._lookup.find(key)
        return read_secrets(self._connection, found.observation.container_id) if found else []

    def stats(self, key: str) -> Usage | None:
        found = self._lookup.find(key)
        if found is None or not found.observation.is_up:
            return None
        return self.usage_of(found.observation.container_id, started_at=found.observation.started_at)

    def usage_of(self, container_id: str, *, started_at: datetime | None) -> Usage | None:
        return read_usage(self._connection, self._meter, container_id, started_at=started_at)

    def measure_disks(self, keys: Mapping[str, int], *, images: Collection[str]) -> Iterator[tuple[str, DiskUse]]:
        return self._disks.measure(keys, images=images)

    def report_streams(self) -> ReportStreams:
        return ReportStreams(self._open_socket)

    def _open_socket(self) -> tuple[socket.socket, str]:
        with self._connection.call() as client:
            return client.open_socket(), client.api_version
