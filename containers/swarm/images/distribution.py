"""Pushes images to the registry, has all nodes pull them, and reports progress. For commands, not for requests."""

import time
from collections.abc import Callable, Iterable

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.docker_api.registry import push_image, read_credentials
from containers.errors import EngineRefusedError
from containers.swarm.images.pulls import Pulled, Pulls
from containers.swarm.nodes.nodes import Node, list_nodes
from containers.swarm.services.services import LIST_SIZE

PULL_LIMIT = 1800.0
"""Seconds for all nodes to pull an image."""

_ASK_EVERY = 1.0


def distribute(connection: Connection, images: Iterable[str], report: Callable[[str], None]) -> None:
    """Pushes these images to the registry and, if the engine is a Swarm, has all nodes pull them."""
    if not settings.BERTH_REGISTRY:
        raise EngineRefusedError("There is no registry to push to. Set BERTH_REGISTRY.")
    pushed = push_images(connection, images, report)
    if settings.BERTH_ENGINE == "swarm":
        have_pulled(connection, pushed, report)


def push_images(connection: Connection, images: Iterable[str], report: Callable[[str], None]) -> list[str]:
    """Pushes the images, and returns their names in the registry with digests."""
    names = []
    for image in images:
        report(f"Pushing {image} to {settings.BERTH_REGISTRY}")
        names.append(push_image(connection, image, settings.BERTH_REGISTRY))
        report(f"{image} is {names[-1]}")
    return names


def have_pulled(connection: Connection, references: Iterable[str], report: Callable[[str], None]) -> None:
    """Returns once all nodes that take agents have these images. Raises `EngineRefusedError` if one cannot."""
    pulls, wanted = Pulls(connection), list(references)
    credentials = read_credentials(connection, settings.BERTH_REGISTRY)
    taking = {node.node_id for node in _taking(connection)}
    for reference in wanted:
        pulls.begin(reference, credentials=credentials, nodes=taking)
    for reference in wanted:
        _await(connection, pulls, reference, report)
    for reference in wanted:
        pulls.forget(reference.partition("@")[0], keep=[*wanted, *_in_use(connection)])


def _await(connection: Connection, pulls: Pulls, reference: str, report: Callable[[str], None]) -> None:
    until, nodes_with_image = time.monotonic() + PULL_LIMIT, -1
    while True:
        pulled, taking = pulls.find(reference), _taking(connection)
        missing = [node for node in taking if not pulled.has(node.node_id)]
        if len(taking) - len(missing) != nodes_with_image:
            nodes_with_image = len(taking) - len(missing)
            report(f"{reference}: on {nodes_with_image} of {len(taking)} nodes")
        if not missing:
            return
        if time.monotonic() >= until or all(pulled.is_given_up(node.node_id) for node in missing):
            raise EngineRefusedError(_explain(reference, pulled, missing))
        time.sleep(_ASK_EVERY)


def _taking(connection: Connection) -> list[Node]:
    """Returns the nodes that take agents. A Swarm runs nothing on the others, which pull later."""
    return [node for node in list_nodes(connection) if node.is_ready and node.is_active]


def _explain(reference: str, pulled: Pulled, missing: list[Node]) -> str:
    why = [f"{node.name} ({pulled.failure(node.node_id) or 'it has not said why'})" for node in missing]
    return f"{reference} is not on {', '.join(why)}."


def _in_use(connection: Connection) -> set[str]:
    """Returns the images of all services, also those of other programs."""
    with connection.call(size=LIST_SIZE) as client, understand_answer():
        specs = [row["Spec"]["TaskTemplate"].get("ContainerSpec") or {} for row in client.services()]
        return {str(spec.get("Image") or "") for spec in specs}
