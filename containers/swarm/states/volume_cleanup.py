"""Empties an agent's volumes on other nodes, which a manager cannot remove, with a Swarm job on those nodes.

The volumes stay, but are empty. The job runs a shell of the agent's image as the agent's user, confined like an agent:
it treats the files in the volume only as data, and never as programs.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.conf import settings

from containers.agent_contract import DATA_PATH
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.hardening import MEBIBYTE, data_volume
from containers.identity import container_name, helper_labels, network_name
from containers.outbound.call_limits import seconds_left, time_of_its_own
from containers.swarm.images.images import require_pulled
from containers.swarm.images.pulls import runs_by_node
from containers.swarm.nodes.nodes import Node, find_own_node, list_nodes, read_api
from containers.swarm.notes.state_locations import Program, kept_on, program_of
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import Verbs
from containers.swarm.states.shared_folders import volume_driver
from containers.swarm.tasks.job_containers import remove_job
from containers.swarm.tasks.service_spec import confinement

LABEL = "berth.empties"
"""The label of such a job, which belongs to no agent. Its value is the instance."""

ENDS_WITHIN, PATIENCE, CLEANING = 10, 20.0, 5.0
"""Seconds for an agent that still runs, for a job, and for removing the job."""

AWAY = (
    "What the agent remembers is also on the disk of {}, which takes no tasks now: it cannot be removed there. Try "
    "again when that is back, or remove it from the Swarm."
)
NO_NODE = "No node takes tasks now, and so nothing can remove what the agent remembers. Try again later."
NO_PROGRAM = (
    "What the agent remembers is on the disk of {}, and it has never run in this Swarm, so that nobody knows how to "
    "remove it there. Start it once, or have DOCKER_HOST name that node, and try again."
)
NOT_EMPTIED = "What the agent remembers on the disk of {} could not be removed{}."

MEMORY = 128 * MEBIBYTE
"""`find` and `rm` read a hundred thousand entries of a directory before they act, each with its name."""

ENVIRONMENT = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LD_LIBRARY_PATH=", "LD_PRELOAD=")
"""Replaces the image's own environment, whose search path may include places where the agent writes."""

_ASK_EVERY = 0.2
_SCRIPT = (
    'cd "$1" || exit 1; chmod -R u+rwX . 2>/dev/null; find . -xdev -mindepth 1 -maxdepth 1 -exec rm -rf {} +; '
    'test -z "$(find . -xdev -mindepth 1 | head -c 1)"'
)


class VolumeCleanup:
    def __init__(
        self, connection: Connection, services: Services, verbs: Verbs, ensure_network: Callable[[str], None]
    ) -> None:
        self._connection = connection
        self._services = services
        self._verbs = verbs
        self._ensure_network = ensure_network

    def run(self, key: str) -> None:
        """Stops the agent and empties its volumes on all other nodes, or in the storage that all nodes share.

        The nodes are those on which its service has run, and those noted for removed services. Raises
        `EngineUnavailableError` if a node that has some of its memory is away, and `EngineRefusedError`.
        """
        found = self._services.ours(key)
        for each in found:
            self._verbs.stop(each, timeout=ENDS_WITHIN, leave_lost=True)
        found = [*found, *self._services.ours(key)] if found else []  # it may have moved until then
        left = self._services.state_locations.find(key)
        kept = left.nodes.union(*map(kept_on, found))
        program = program_of(found[0]) if found else left.program
        nodes = {node.node_id: node for node in list_nodes(self._connection)} if kept or program else {}
        there = self._choose(nodes, kept, program)
        if there and program is None:
            raise EngineRefusedError(NO_PROGRAM.format(_names(there)))
        if there and program:
            self._ensure_network(network_name())
            name = found[0].name if found else container_name(key)
            self._empty(job_payload(name, key, program, nodes, there, read_api(self._connection)), there)

    def _choose(self, nodes: Mapping[str, Node], kept: Collection[str], program: Program | None) -> list[Node]:
        """Returns the nodes for the job: each one still in the Swarm or, with shared storage, one that can run it."""
        known = [nodes[node] for node in sorted(kept) if node in nodes]
        if not settings.BERTH_SWARM_VOLUME_DRIVER:
            here = find_own_node(self._connection) if known else ""
            there = [node for node in known if node.node_id != here]
            if away := [node for node in there if not _takes(node)]:
                raise EngineUnavailableError(AWAY.format(_names(away)))
            return there
        if program is None:
            return known[:1]
        able = [node for node in nodes.values() if _takes(node)]
        if not able:
            raise EngineUnavailableError(NO_NODE)
        has_run = [node for node in known if _takes(node)]
        return (has_run or require_pulled(self._connection, program.image, able)[0])[:1]

    def _empty(self, payload: dict[str, Any], nodes: Sequence[Node]) -> None:
        remove_job(self._connection, payload["Name"])  # left behind by a killed process
        with self._connection.call() as client, understand_answer():
            job = client.create_service_from(payload)
        try:
            self._await(job, nodes)
        finally:
            with time_of_its_own(CLEANING), suppress(EngineError):
                remove_job(self._connection, job)

    def _await(self, job: str, nodes: Sequence[Node]) -> None:
        left = seconds_left()
        until = time.monotonic() + (PATIENCE if left is None else min(PATIENCE, left - 1))
        while True:
            with self._connection.call() as client, understand_answer():
                runs = runs_by_node(client.tasks(filters={"service": [job]}))
            missing = [node for node in nodes if not any(run.state == "complete" for run in runs.get(node.node_id, ()))]
            if not missing:
                return
            names = _names(missing)
            ended = [run for node in missing for run in runs.get(node.node_id, ()) if run.has_ended]
            if ended:
                raise EngineRefusedError(NOT_EMPTIED.format(names, f": {ended[0].error[:120]}"))
            if time.monotonic() >= until:
                raise EngineUnavailableError(NOT_EMPTIED.format(names, " in time. Try again"))
            time.sleep(_ASK_EVERY)


def _takes(node: Node) -> bool:
    return node.is_ready and node.is_active


def _names(nodes: Sequence[Node]) -> str:
    return ", ".join(node.name for node in nodes)[:80]


def job_payload(
    name: str, key: str, program: Program, nodes: Collection[str], there: Sequence[Node], api: tuple[int, int]
) -> dict[str, Any]:
    """For the volume of the agent of this name. Of all `nodes` the job runs on those that are `there`."""
    driver = volume_driver(name)
    options = {"DriverConfig": driver} if driver else {}
    volume = {"Type": "volume", "Source": data_volume(name), "Target": DATA_PATH}
    others = sorted(set(nodes) - {node.node_id for node in there})
    return {
        "Name": f"{container_name(key)}-empty",
        "Labels": helper_labels(LABEL),
        "Mode": {"GlobalJob": {}},
        "EndpointSpec": {"Mode": "dnsrr"},  # an agents' network has no addresses of services
        "TaskTemplate": {
            "ContainerSpec": {
                **confinement(api),
                "Image": program.image,
                "Command": ["/bin/sh", "-c", _SCRIPT, "empty", DATA_PATH],
                "Env": list(ENVIRONMENT),
                "User": program.user,
                "HealthCheck": {"Test": ["NONE"]},
                "Mounts": [{**volume, "VolumeOptions": {"NoCopy": True, **options}}],
            },
            "Resources": {"Limits": {"MemoryBytes": MEMORY, "Pids": 32}},
            "RestartPolicy": {"Condition": "none"},
            "Placement": {"Constraints": [f"node.id != {node}" for node in others]},
            "Networks": [{"Target": network_name()}],
        },
    }
