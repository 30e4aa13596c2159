"""Removes images of agent types that Berth has built, that newer ones have replaced, and that are not in use."""

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from containers.docker_api.building.former_images import remove_former_gateways
from containers.docker_api.building.image_build import CONTEXT_LABEL, FIREWALL, GATEWAY
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineRefusedError

KEPT_FOR = 7 * 24 * 3600
"""Seconds since the build. Another installation on this engine may have built an image that it does not use yet."""

AT_ONCE = 20
"""The most images that one call removes. Each removal is a separate call to the engine."""


def remove_unused(connection: Connection, *, keep: Collection[str]) -> int:
    """Removes unused images whose ids are not in `keep`, and returns how many. Raises `EngineUnavailableError`.

    An image stays if it is still tagged as the latest, or if any installation has created a container from it, because
    the engine refuses to remove it then. Unused images of the gateway are removed too, without being counted: they were
    still in use when their successor was built.
    """
    remove_former_gateways(connection)
    removed = 0
    for image in _find_unused(connection, keep)[:AT_ONCE]:
        with suppress(EngineRefusedError):
            for name in _names_of(image):
                with connection.call() as client:
                    client.remove_image(name)
            removed += 1
    return removed


def _find_unused(connection: Connection, keep: Collection[str]) -> list[Mapping[str, Any]]:
    with connection.call() as client, understand_answer():
        found = client.images(filters={"label": [CONTEXT_LABEL]})
        return [each for each in found if each["Id"] not in keep and _is_former(each)]


def _is_former(image: Mapping[str, Any]) -> bool:
    """Returns whether this is an old image of an agent type. The gateway's and the firewall's are handled elsewhere.

    An image without a name may belong to someone else who built it on one of ours, and may have its label from there.
    """
    names = _names_of(image)
    others = (f"{GATEWAY.repository}:", f"{FIREWALL.repository}:")
    is_former = bool(names) and all(name.startswith("berth/") and not name.endswith(":latest") for name in names)
    is_agents = not any(name.startswith(others) for name in names)
    return is_former and is_agents and image["Created"] < time.time() - KEPT_FOR


def _names_of(image: Mapping[str, Any]) -> list[str]:
    return [name for name in image["RepoTags"] or [] if name != "<none>:<none>"]
