"""Removes images of agent types that Berth has built, that lost their place to newer ones, and that nobody uses."""

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.docker_api.former_images import remove_former_gateways
from containers.docker_api.image_build import CONTEXT_LABEL, FIREWALL, GATEWAY
from containers.errors import EngineRefusedError

KEPT_FOR = 7 * 24 * 3600
"""Seconds since it was built. Another installation on this engine may have built one and not used it yet."""

AT_ONCE = 20
"""Images that one call removes at most, each by a call of its own."""


def remove_unused(connection: Connection, *, keep: Collection[str]) -> int:
    """Removes what is none of `keep`, which are ids, and returns how many. Raises `EngineUnavailableError`.

    One that a container was made from stays, of no matter which installation: the engine refuses to remove it. So does
    one that still has the name of the latest. Those of the gateway that nobody uses go, too, and are not counted: the
    build that took their place came too early for that.
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
    """The gateway's and the firewall's have other names, and a care of their own.

    One without a name may be anybody's who has built on one of ours, and has its label from there.
    """
    names = _names_of(image)
    others = (f"{GATEWAY.repository}:", f"{FIREWALL.repository}:")
    is_former = bool(names) and all(name.startswith("berth/") and not name.endswith(":latest") for name in names)
    is_agents = not any(name.startswith(others) for name in names)
    return is_former and is_agents and image["Created"] < time.time() - KEPT_FOR


def _names_of(image: Mapping[str, Any]) -> list[str]:
    return [name for name in image["RepoTags"] or [] if name != "<none>:<none>"]
