"""Checks whether any node has room for an agent."""

from collections.abc import Mapping, Sequence
from typing import Any

from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import NoRoomError
from containers.identity import is_ours
from containers.swarm.nodes.nodes import Node, find_room, list_nodes, require_settled
from containers.swarm.services.services import LIST_SIZE
from containers.vocabulary import PROJECT_LABEL, ContainerSpec

MEBIBYTE = 1024 * 1024

PLAN_LABEL = "berth.plan"
"""The label of a node with the plan that it is reserved for. A node without it takes agents of all other plans."""


def require_room(connection: Connection, nodes: Sequence[Node], spec: ContainerSpec) -> None:
    """Raises `NoRoomError` if none of the nodes has enough free memory, before anything is created. Raises
    `EngineUnavailableError` if the free memory of some is unknown.

    The memory of the agent's own task counts as free, because that task ends before the next one starts.
    """
    with connection.call(size=LIST_SIZE) as client, understand_answer():
        running = client.tasks(filters={"desired-state": ["running"]})
        tasks = [task for task in running if not _is_of(spec, task)]
        free = find_room(nodes, tasks)
    most = max(free.values(), default=0)
    if spec.memory > most:
        require_settled(nodes)
        raise NoRoomError(
            f"No machine has {spec.memory // MEBIBYTE} MB of memory left for the agent; the most that one has is "
            f"{max(0, most) // MEBIBYTE} MB. Stop another agent, choose a smaller plan, or ask the staff for more room."
        )


def free_here(connection: Connection) -> int:
    """Returns the bytes that no task has reserved on the node that we are connected to; 0 if it takes no agents."""
    with connection.call(size=LIST_SIZE) as client, understand_answer():
        here, tasks = str(client.info()["Swarm"]["NodeID"]), client.tasks(filters={"desired-state": ["running"]})
        return find_room(list_nodes(connection), tasks).get(here, 0)


def _is_of(spec: ContainerSpec, task: Mapping[str, Any]) -> bool:
    labels = (task["Spec"].get("ContainerSpec") or {}).get("Labels") or {}
    return bool(labels.get(PROJECT_LABEL) == spec.key and is_ours(labels))


def constraints_of(plan: str, nodes: Sequence[Node]) -> list[str]:
    """Nodes with a plan's label take only that plan, and a plan that has such nodes runs on no others."""
    named = sorted({node.labels[PLAN_LABEL] for node in nodes if PLAN_LABEL in node.labels})
    if plan in named:
        return [f"node.labels.{PLAN_LABEL} == {plan}"]
    return [f"node.labels.{PLAN_LABEL} != {other}" for other in named]


def nodes_for(plan: str, nodes: Sequence[Node]) -> list[Node]:
    """Returns the nodes that meet the constraints."""
    has_own = any(node.labels.get(PLAN_LABEL) == plan for node in nodes)
    return [node for node in nodes if node.labels.get(PLAN_LABEL) == (plan if has_own else None)]
