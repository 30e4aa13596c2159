"""Changes of a service's specification, in place. Pure otherwise."""

from typing import Any

from containers.swarm.tasks.service_spec import COPIED_ON_LABEL, HELD
from containers.vocabulary import QUARANTINE_LABEL


def scale(spec: dict[str, Any], *, replicas: int, is_held: bool) -> None:
    spec["Mode"] = {"Replicated": {"Replicas": replicas}}
    placement = spec["TaskTemplate"].setdefault("Placement", {})
    others = [each for each in placement.get("Constraints") or [] if each != HELD]
    placement["Constraints"] = [*others, HELD] if is_held else others


def on_node(node: str) -> str:
    """Returns the constraint that binds a task to this node."""
    return f"node.id == {node}"


def unbind(spec: dict[str, Any]) -> None:
    labels = dict(spec.get("Labels") or {})
    bound = on_node(labels.pop(COPIED_ON_LABEL, ""))
    placement = spec["TaskTemplate"].setdefault("Placement", {})
    placement["Constraints"] = [each for each in placement.get("Constraints") or [] if each != bound]
    spec["Labels"] = labels


def quarantine(spec: dict[str, Any], since: str) -> None:
    scale(spec, replicas=0, is_held=True)
    spec["Labels"] = {**(spec.get("Labels") or {}), QUARANTINE_LABEL: since}
    spec["TaskTemplate"]["ContainerSpec"]["Secrets"] = []


def force(spec: dict[str, Any]) -> None:
    spec["TaskTemplate"]["ForceUpdate"] = int(spec["TaskTemplate"].get("ForceUpdate") or 0) + 1
