"""Finds and removes what this installation has on the engine. Objects without its id are left alone."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings

from containers.docker.networks.rules_container import run_removal
from containers.docker_api.building.image_build import CONTEXT_LABEL
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.firewall.iptables import can_set_rules, is_on_this_host, remove_rules
from containers.identity import installation_id
from containers.outbound.call_limits import time_limit
from containers.vocabulary import INSTALLATION_LABEL

STOP_TIMEOUT = 5
"""Seconds that a container gets to end."""

ONE_WITHIN = 60.0
"""Seconds for the removal of one object."""


class Belongings(NamedTuple):
    """Ids by name of each kind, sorted by name. `images` are all that Berth has built, for any installation."""

    containers: dict[str, str]
    networks: dict[str, str]
    volumes: dict[str, str]
    images: dict[str, str]


def find_belongings(connection: Connection) -> Belongings:
    """Raises `EngineError`."""
    chosen = {"label": [f"{INSTALLATION_LABEL}={installation_id()}"]}
    with connection.call() as client, understand_answer():
        containers = client.containers(all=True, filters=chosen)
        networks = client.networks(filters=chosen)
        volumes = client.volumes(filters=chosen)["Volumes"] or []
        images = client.images(filters={"label": [CONTEXT_LABEL]})
        return Belongings(
            dict(_ours((row["Names"][0].lstrip("/"), row["Id"], row) for row in containers)),
            dict(_ours((row["Name"], row["Id"], row) for row in networks)),
            dict(_ours((row["Name"], row["Name"], row) for row in volumes)),
            {name: name for row in images for name in sorted(row["RepoTags"] or []) if name.startswith("berth/")},
        )


def _ours(rows: Iterator[tuple[str, str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Yields the objects of this instance. One database may serve several instances, which share its id."""
    for name, identifier, row in sorted(rows, key=lambda each: each[:2]):
        if settings.BERTH_INSTANCE in (row["Labels"] or {}).values():
            yield name, identifier


def remove_container(connection: Connection, identifier: str) -> None:
    """Stops and removes the container. Named volumes stay. Does nothing if it is gone."""
    with time_limit(ONE_WITHIN), suppress(MissingError):
        with suppress(EngineRefusedError), connection.call(about_one=True) as client:
            client.stop(identifier, timeout=STOP_TIMEOUT)
        with connection.call(about_one=True) as client:
            client.remove_container(identifier, force=True, v=False)


def remove_network(connection: Connection, identifier: str) -> None:
    with time_limit(ONE_WITHIN), suppress(MissingError), connection.call() as client:
        client.remove_network(identifier)


def remove_volume(connection: Connection, name: str) -> None:
    with time_limit(ONE_WITHIN), suppress(MissingError), connection.call() as client:
        client.remove_volume(name)


def remove_image(connection: Connection, name: str) -> bool:
    """Removes the image. Returns False if it stays because a container of any installation was created from it."""
    with time_limit(ONE_WITHIN):
        try:
            with connection.call() as client:
                client.remove_image(name)
        except MissingError:
            return True
        except (ConflictError, EngineRefusedError):
            return False
    return True


def remove_firewall(connection: Connection) -> None:
    """Removes the rules, here or through the engine. Call it while the networks exist and no agents are left.

    Raises `EngineError`.
    """
    if can_set_rules() and is_on_this_host():
        remove_rules()
    else:
        run_removal(connection)
