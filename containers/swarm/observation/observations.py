"""The Swarm engine's verbs that only read: inspect, look up, observe and list."""

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from django.conf import settings

from containers.docker_api.answers import read_volumes
from containers.docker_api.client import Connection
from containers.docker_api.read_limits import longest_wait, with_current_limits
from containers.engine.lists import Keys
from containers.errors import ContainerSilentError, EngineUnavailableError
from containers.identity import is_ours
from containers.processes.side_work import do_side_by_side
from containers.swarm.nodes.nodes import list_nodes
from containers.swarm.observation.logs import Logs
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import SILENT
from containers.swarm.tasks.tasks import Service, observe
from containers.swarm.tasks.waiting import why_it_waits
from containers.vocabulary import PROJECT_LABEL, USER_LABEL, ContainerState, Observation, Volume

AT_ONCE = 8
"""Logs that one process reads at a time. Each caller reads one more itself."""

HIGHEST = 2_147_352_575
"""The last user number below those that systemd reserves. A label with a higher number is not ours."""

COUNTED_AFTER = 2
"""`observe` saves the crash count once this many ended tasks are uncounted, because a Swarm keeps only four by
default."""


class Observations:
    def __init__(
        self, connection: Connection, services: Services, logs: Logs, lost: Callable[[], frozenset[str]]
    ) -> None:
        self._connection = connection
        self._services = services
        self._logs = logs
        self._lost = lost
        self._places: dict[int, threading.BoundedSemaphore] = {}

    def inspect(self, key: str, *, briefly: bool) -> Observation | None:
        """Returns the highest-ranked observation if there are several services with this key."""
        found = self._services.ours(key)
        if not found:
            return None
        lost = self._lost()
        seen, service = max(((observe(each, lost=lost), each) for each in found), key=lambda each: each[0].rank)
        if seen.is_silent:
            raise ContainerSilentError(SILENT)
        return seen if briefly and not seen.is_up else self._complete(seen, service, lost)

    def look_up(self, service_id: str) -> Observation | None:
        service = self._services.look_up(service_id)
        if service is None or not is_ours(service.labels) or service.service_id != service_id:
            return None
        seen = observe(service, lost=self._lost())
        if seen.is_silent:
            raise ContainerSilentError(SILENT)
        return seen

    def observe(self, within: Mapping[str, str], *, others: bool, briefly: Keys) -> list[Observation]:
        """Makes three calls for all services together, and one for the report of each that is not in `briefly`."""
        services = self._services.list_labels(within)
        lost = self._lost() if services else frozenset()
        self._services.state_locations.note(
            each for each in services if is_ours(each.labels) and each.labels.get(PROJECT_LABEL)
        )
        for each in services:
            if len(each.uncounted) >= COUNTED_AFTER and is_ours(each.labels):
                self._services.keep_count(each)
        seen = [(observe(each, lost=lost), each) for each in services if others or is_ours(each.labels)]
        enough = [_brief(each) for each, service in seen if not is_ours(each.labels) or each.key in briefly]
        rest = [each for each in seen if is_ours(each[0].labels) and each[0].key not in briefly]
        return enough + self._complete_all(rest, lost)

    def _complete(
        self, seen: Observation, service: Service, lost: frozenset[str], *, is_enough_if_recent: bool = False
    ) -> Observation:
        """Adds the agent's own report, or the Swarm's reason if the agent waits for a node."""
        if seen.state is ContainerState.RESTARTING and not seen.is_silent:
            moves_along = bool(settings.BERTH_SWARM_VOLUME_DRIVER)
            if waits := why_it_waits(service, lost=lost, moves_along=moves_along, takes_tasks=self._takes_tasks):
                return replace(seen, report=waits)
        return self._logs.complete(seen, service, is_enough_if_recent=is_enough_if_recent)

    def _takes_tasks(self, node_id: str) -> bool:
        nodes = list_nodes(self._connection)
        return any(node.node_id == node_id and node.is_ready and node.is_active for node in nodes)

    def _complete_all(self, seen: list[tuple[Observation, Service]], lost: frozenset[str]) -> list[Observation]:
        def complete(each: tuple[Observation, Service]) -> Observation:
            return self._complete(*each, lost, is_enough_if_recent=True)

        # One semaphore per process: a fork does not have the threads that held its parent's.
        places = self._places.setdefault(os.getpid(), threading.BoundedSemaphore(AT_ONCE))
        try:
            act, within = with_current_limits(complete), longest_wait()
            return do_side_by_side(act, seen, places=places, most=AT_ONCE - 1, within=within)
        except TimeoutError as error:
            raise EngineUnavailableError("The engine did not answer in time.") from error

    def highest_user(self, block: Collection[int]) -> int | None:
        return max((user for user in self._users(block) if user <= HIGHEST), default=None)

    def has_user(self, user: int) -> bool:
        return bool(self._services.list_rows({USER_LABEL: str(user)}) or self._list_volumes([f"{USER_LABEL}={user}"]))

    def _users(self, block: Collection[int]) -> Iterator[int]:
        """Yields the users of services and of volumes here. Those of other installations count if their number lies in
        the block.
        """
        services = [service.labels for service in self._services.list_rows({PROJECT_LABEL: ""})]
        volumes = [volume.labels for volume in self._list_volumes([PROJECT_LABEL])]
        for labels in (*services, *volumes):
            label = labels.get(USER_LABEL, "")
            if label.isascii() and label.isdecimal() and len(label) <= len(str(HIGHEST)):
                user = int(label)
                if user in block or is_ours(labels):
                    yield user

    def list_volumes(self, within: Mapping[str, str]) -> list[Volume]:
        found = self._list_volumes([f"{label}={value}" for label, value in within.items()])
        return [volume for volume in found if is_ours(volume.labels)]

    def _list_volumes(self, labels: list[str]) -> list[Volume]:
        with self._connection.call() as client:
            return read_volumes(client.volumes(filters={"label": labels}))


def _brief(seen: Observation) -> Observation:
    return replace(seen, exit_code=None, finished_at=None, started_at=None, restart_count=None, oom_killed=None)
