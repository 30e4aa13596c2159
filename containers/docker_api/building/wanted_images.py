"""Selects the images to build, and checks whether they exist as this version would build them."""

from collections.abc import Sequence

from django.conf import settings

from containers.docker_api.building import image_build
from containers.docker_api.building.image_build import (
    AGENT_BASE,
    FIREWALL,
    GATEWAY,
    BuildContext,
    find_contexts,
    inspect_image,
)
from containers.docker_api.building.pinned_base import describe_build, find_pin, read_pin
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineError
from containers.outbound.call_limits import time_limit

DEFAULT_TYPE = "assistant"
"""The agent type that Berth ships as the default."""

ASK_WITHIN = 5.0
"""Seconds for the engine to say which images it has. If it takes longer, they count as not built."""


def select_contexts(connection: Connection, types: Sequence[str], *, is_first_run: bool = False) -> list[BuildContext]:
    """Returns the contexts of these `types`, or by default of the gateway and all agent types.

    With `is_first_run`, the default has only the agent types that are on the engine already, and the one that a first
    deploy uses.
    """
    contexts = find_contexts()
    if types:
        return [each for each in (GATEWAY, AGENT_BASE, *contexts, FIREWALL) if each.type in types]
    if is_first_run:
        contexts = [each for each in contexts if each.type == DEFAULT_TYPE or inspect_image(connection, each.image)]
    return [*(find_gateway() if settings.BERTH_GATEWAY else []), *contexts]


def find_gateway() -> list[BuildContext]:
    """Returns the gateway's build context if its folder is among the agent types, or nothing."""
    return [GATEWAY] if GATEWAY.folder.parent == image_build.IMAGES else []


def are_built(connection: Connection, *, firewall: bool) -> bool:
    """Returns whether the engine answers and a first run would build nothing, with `firewall` not even its image."""
    try:
        with time_limit(ASK_WITHIN):
            wanted = [*select_contexts(connection, [], is_first_run=True), *([FIREWALL] if firewall else [])]
            return all(_is_built(connection, context) for context in wanted)
    except EngineError:
        return False


def _is_built(connection: Connection, context: BuildContext) -> bool:
    found = inspect_image(connection, context.image)
    if found is None:
        return False
    pin = read_pin(found) or find_pin(connection, [each.image for each in (*find_contexts(), *find_gateway())])
    with understand_answer():
        labels = found["Config"].get("Labels") or {}
        return pin is not None and describe_build(context, pin).items() <= labels.items()
