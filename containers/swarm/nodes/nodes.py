"""Reads the Swarm's nodes from its manager."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from containers.agent_text import clean, mark_hidden
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineUnavailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """`memory` is in bytes, `cpus` in cores. `is_ready`: the manager hears from it. `is_active`: it takes new agents.
    `is_drained`: the Swarm runs nothing on it. A paused node is neither active nor drained: its tasks keep running, but
    it takes no new ones. `is_down`: the Swarm considers it dead and runs its agents elsewhere. A node that is neither
    ready nor down looks for its manager, as all nodes do for some seconds after another manager takes over.

    `labels` are set by operators, `daemon_labels` in the node's daemon.json. `engine` is the version of its engine.
    """

    node_id: str
    name: str
    address: str
    is_ready: bool
    is_active: bool
    memory: int
    cpus: int
    labels: Mapping[str, str] = field(default_factory=dict)
    daemon_labels: Mapping[str, str] = field(default_factory=dict)
    engine: str = ""
    is_drained: bool = False
    is_down: bool = False


def list_nodes(connection: Connection) -> list[Node]:
    """Returns all nodes, sorted by name."""
    with connection.call() as client, understand_answer():
        return sorted((read_node(row) for row in client.nodes()), key=lambda node: (node.name, node.node_id))


def find_own_node(connection: Connection) -> str:
    """Returns the id of the node that we are connected to."""
    with connection.call() as client, understand_answer():
        return str(client.info()["Swarm"]["NodeID"])


def read_version(connection: Connection) -> str:
    """Returns the version of the engine that we are connected to."""
    with connection.call() as client, understand_answer():
        return clean(str(client.info().get("ServerVersion") or ""))[:64]


def read_api(connection: Connection) -> tuple[int, int]:
    """Returns the version of the API that the engine speaks to which we are connected."""
    with connection.call() as client, understand_answer():
        return client.read_api()


def read_node(row: Mapping[str, Any]) -> Node:
    spec, status, described = row["Spec"], row["Status"], row.get("Description") or {}
    resources, engine = described.get("Resources") or {}, described.get("Engine") or {}
    return Node(
        node_id=str(row["ID"]),
        name=mark_hidden(str(described.get("Hostname") or row["ID"])),
        address=str(status.get("Addr") or ""),
        is_ready=status["State"] == "ready",
        is_down=status["State"] == "down",
        is_active=spec["Availability"] == "active",
        is_drained=spec["Availability"] == "drain",
        memory=int(resources.get("MemoryBytes") or 0),
        cpus=int(resources.get("NanoCPUs") or 0) // 1_000_000_000,
        labels=dict(spec.get("Labels") or {}),
        daemon_labels=dict(engine.get("Labels") or {}),
        engine=clean(str(engine.get("EngineVersion") or "")),
    )


def find_ready(nodes: Sequence[Node]) -> dict[str, bool]:
    """Returns for each node whether the manager hears from it, by its name, and by its id if another has this name."""
    times = Counter(node.name for node in nodes)
    return {node.name if times[node.name] == 1 else node.node_id: node.is_ready for node in nodes}


def require_settled(nodes: Sequence[Node]) -> None:
    """Raises `EngineUnavailableError` while a node that takes agents looks for its manager, because its state is
    unknown.
    """
    between = [node for node in nodes if node.memory and node.is_active and not (node.is_ready or node.is_down)]
    if between:
        raise EngineUnavailableError(NOT_SETTLED.format(", ".join(node.name for node in between)[:80]))


def find_room(nodes: Sequence[Node], tasks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Returns the bytes that no task has reserved, by the ids of the nodes that take new agents."""
    free = {node.node_id: node.memory for node in nodes if node.is_ready and node.is_active}
    for task in tasks:
        node = task.get("NodeID")
        if node in free and task["Status"]["State"] not in ENDED:
            reserved = ((task["Spec"].get("Resources") or {}).get("Reservations") or {}).get("MemoryBytes") or 0
            free[node] -= int(reserved)
    return free


NOT_SETTLED = "The Swarm has not heard from some nodes yet ({}): its manager may have changed. Try again in a moment."

ENDED = frozenset({"complete", "shutdown", "failed", "rejected", "remove", "orphaned"})
"""The states of tasks whose processes have ended."""
