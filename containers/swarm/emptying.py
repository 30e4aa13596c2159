"""Empties what an agent remembers on other nodes, whose volumes a manager cannot remove: by a job of the Swarm there.

The volumes stay, and hold nothing. The job runs a shell of the agent's image, as the agent's user and without rights.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.conf import settings

from containers.agent_contract import DATA_PATH
from containers.call_limits import seconds_left, time_of_its_own
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.hardening import MEBIBYTE, data_volume
from containers.identity import container_name, helper_labels
from containers.swarm.homes import kept_on
from containers.swarm.nodes import Node, list_nodes
from containers.swarm.pulls import runs_by_node
from containers.swarm.services import Services
from containers.swarm.shared_folders import volume_driver
from containers.swarm.tasks import Service
from containers.swarm.verbs import Verbs

LABEL = "berth.empties"
"""The label of such a job: the instance. It is no agent's."""

ENDS_WITHIN, PATIENCE, CLEANING = 10, 20.0, 5.0
"""Seconds for an agent that still runs, for a job, and for taking it away."""

AWAY = (
    "What the agent remembers is also on the disk of {}, which takes no tasks now: it cannot be removed there. Try "
    "again when that is back, or remove it from the Swarm."
)
NOT_EMPTIED = "What the agent remembers on the disk of {} could not be removed{}."

_ASK_EVERY = 0.2
_SCRIPT = (
    'cd "$1" || exit 1; chmod -R u+rwX . 2>/dev/null; find . -xdev -mindepth 1 -maxdepth 1 -exec rm -rf {} +; '
    'test -z "$(find . -xdev -mindepth 1 | head -c 1)"'
)


class Emptying:
    def __init__(self, connection: Connection, services: Services, verbs: Verbs) -> None:
        self._connection = connection
        self._services = services
        self._verbs = verbs

    def run(self, key: str) -> None:
        """On all nodes but that with which we speak, or in the one place that all share. Its agent is stopped before.

        Raises `EngineUnavailableError` where a node that has some of it is away, and `EngineRefusedError`.
        """
        found = self._services.ours(key)
        for each in found:
            self._verbs.stop(each, timeout=ENDS_WITHIN, leave_lost=True)
        nodes = {node.node_id: node for node in list_nodes(self._connection)} if found else {}
        kept = [nodes[node] for node in sorted({node for each in found for node in kept_on(each)}) if node in nodes]
        if settings.BERTH_SWARM_VOLUME_DRIVER:
            there = [node for node in nodes.values() if node.is_ready and node.is_active][:1] if kept else []
        else:
            here = self._node_id() if kept else ""
            there = [node for node in kept if node.node_id != here]
        if away := [node.name for node in there if not (node.is_ready and node.is_active)]:
            raise EngineUnavailableError(AWAY.format(", ".join(away)[:80]))
        if there:
            self._empty(job_payload(found[0], key, [each for each in nodes.values() if each not in there]), there)

    def _empty(self, payload: dict[str, Any], nodes: Sequence[Node]) -> None:
        self._remove(payload["Name"])  # what a process that was killed has left
        with self._connection.call() as client, understand_answer():
            job = client.create_service_from(payload)
        try:
            self._await(job, nodes)
        finally:
            with time_of_its_own(CLEANING), suppress(EngineError):
                self._remove(job)

    def _await(self, job: str, nodes: Sequence[Node]) -> None:
        left = seconds_left()
        until = time.monotonic() + (PATIENCE if left is None else min(PATIENCE, left - 1))
        while True:
            with self._connection.call() as client, understand_answer():
                runs = runs_by_node(client.tasks(filters={"service": [job]}))
            missing = [node for node in nodes if not any(run.state == "complete" for run in runs.get(node.node_id, ()))]
            if not missing:
                return
            names = ", ".join(node.name for node in missing)[:80]
            ended = [run for node in missing for run in runs.get(node.node_id, ()) if run.has_ended]
            if ended:
                raise EngineRefusedError(NOT_EMPTIED.format(names, f": {ended[0].error[:120]}"))
            if time.monotonic() >= until:
                raise EngineUnavailableError(NOT_EMPTIED.format(names, " in time. Try again"))
            time.sleep(_ASK_EVERY)

    def _node_id(self) -> str:
        with self._connection.call() as client, understand_answer():
            return str(client.info()["Swarm"]["NodeID"])

    def _remove(self, job: str) -> None:
        with suppress(MissingError), self._connection.call() as client:
            client.remove_service(job)


def job_payload(service: Service, key: str, others: Sequence[Node]) -> dict[str, Any]:
    """On each node but the `others`."""
    program = service.spec["TaskTemplate"]["ContainerSpec"]
    driver = volume_driver(service.name)
    options = {"DriverConfig": driver} if driver else {}
    volume = {"Type": "volume", "Source": data_volume(service.name), "Target": DATA_PATH}
    return {
        "Name": f"{container_name(key)}-empty",
        "Labels": helper_labels(LABEL),
        "Mode": {"GlobalJob": {}},
        "TaskTemplate": {
            "ContainerSpec": {
                "Image": program["Image"],
                "Command": ["/bin/sh", "-c", _SCRIPT, "empty", DATA_PATH],
                "User": program["User"],
                "ReadOnly": True,
                "CapabilityDrop": ["ALL"],
                "HealthCheck": {"Test": ["NONE"]},
                "Mounts": [{**volume, "VolumeOptions": {"NoCopy": True, **options}}],
            },
            "Resources": {"Limits": {"MemoryBytes": 32 * MEBIBYTE, "Pids": 32}},
            "RestartPolicy": {"Condition": "none"},
            "Placement": {"Constraints": [f"node.id != {node.node_id}" for node in others]},
        },
    }
