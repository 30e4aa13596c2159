"""Reads facts about an image from a Docker engine."""

from typing import Any

from containers.agent_contract import CONTRACT_VERSION
from containers.docker_api.building.image_build import inspect_image
from containers.docker_api.building.pinned_base import read_pin
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.docker_api.image_rules import find_fault
from containers.engine.images import CAPABILITIES_LABEL, CONTRACT_LABEL, Capability, ImageFacts


def describe_image(connection: Connection, image: str) -> ImageFacts | None:
    with understand_answer():
        found = inspect_image(connection, image)
        if found is None:
            return None
        pin = read_pin(found)
        labels = _labels_of(found)
        return ImageFacts(
            image_id=str(found["Id"]),
            base=str(pin) if pin else None,
            capabilities=read_capabilities(labels.get(CAPABILITIES_LABEL)),
            has_contract=labels.get(CONTRACT_LABEL) == str(CONTRACT_VERSION),
            fault=find_fault(found["Config"] or {}),
        )


def read_capabilities(label: object) -> tuple[str, ...]:
    """Returns the declared capabilities that the contract knows, in its order. An image may declare anything."""
    named = {name.strip().lower() for name in label.split(",")} if isinstance(label, str) else set()
    return tuple(capability.value for capability in Capability if capability.value in named)


def _labels_of(image: dict[str, Any]) -> dict[str, Any]:
    labels = (image["Config"] or {}).get("Labels")
    return labels if isinstance(labels, dict) else {}
