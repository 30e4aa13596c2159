"""Finds and removes what this installation has on the engine. Objects without its id are left alone."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings

from containers.docker.networks.new_networks import BRIDGE
from containers.docker.networks.rules_container import run_removal
from containers.docker_api.building.image_build import CONTEXT_LABEL
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.docker_api.usable_images import look_labels
from containers.errors import EngineRefusedError
from containers.firewall.bridge import bridge_name, bridges_with_rules, former_bridge_name, gateway_bridge_name
from containers.firewall.iptables import can_set_rules, remove_rules, rules_for
from containers.firewall.jumps import list_chains
from containers.firewall.rules import BRIDGE_PREFIX, PROGRAMS
from containers.identity import container_name, installation_id, is_ours
from containers.outbound.call_limits import time_limit
from containers.programs import ProgramError
from containers.vocabulary import INSTALLATION_LABEL, PROJECT_LABEL
from containers.volume_containers import HANDOVER_LABEL

STOP_TIMEOUT = 5
"""Seconds that a container gets to end."""

ONE_WITHIN = 60.0
"""Seconds for the removal of one object."""


_BRIDGE = re.compile(rf"{BRIDGE_PREFIX}[0-9a-f]{{8}}")


class Belongings(NamedTuple):
    """Ids by name of each kind, sorted by name. `images` are all that Berth has built, for any installation. `bridges`
    are the interfaces that may have firewall rules, also of networks that are gone.
    """

    containers: dict[str, str]
    networks: dict[str, str]
    volumes: dict[str, str]
    images: dict[str, str]
    bridges: list[str]


def find_belongings(connection: Connection) -> Belongings:
    """Raises `EngineError`."""
    chosen = {"label": [f"{INSTALLATION_LABEL}={installation_id()}"]}
    with connection.call() as client, understand_answer():
        containers = client.containers(all=True, filters=chosen)
        networks = client.networks(filters=chosen)
        volumes = client.volumes(filters=chosen)["Volumes"] or []
        images = client.images(filters={"label": [CONTEXT_LABEL]})
        helpers = _helpers(client.containers(all=True, filters={"label": [HANDOVER_LABEL]}), [*containers, *volumes])
        return Belongings(
            dict(sorted([*_ours((*_name(row), row) for row in containers), *map(_name, helpers)])),
            dict(_ours((row["Name"], row["Id"], row) for row in networks)),
            dict(_ours((row["Name"], row["Name"], row) for row in volumes)),
            {name: name for row in images for name in sorted(row["RepoTags"] or []) if name.startswith("berth/")},
            _bridges(networks),
        )


def _ours(rows: Iterator[tuple[str, str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Yields the objects of this instance. One database may serve several instances, which share its id."""
    for name, identifier, row in sorted(rows, key=lambda each: each[:2]):
        if settings.BERTH_INSTANCE in (row["Labels"] or {}).values():
            yield name, identifier


def _name(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["Names"][0].lstrip("/"), row["Id"]


def _helpers(rows: Iterable[Mapping[str, Any]], owned: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yields the containers that killed processes have left: they look into an image, or have the volume of an agent
    of these objects, which they would keep in use. They have none of an agent's labels.
    """
    labels = [row["Labels"] or {} for row in owned]
    agents = {container_name(each[PROJECT_LABEL]) for each in labels if each.get(PROJECT_LABEL) and is_ours(each)}
    for row in rows:
        found = row["Labels"] or {}
        is_look = look_labels().items() <= found.items()
        if is_look or found[HANDOVER_LABEL].rpartition(":")[0] in agents:
            yield row


def _bridges(networks: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the interfaces of this installation. Networks of another `BERTH_CONTAINER_NETWORK` have other ones."""
    ours = (row for row in networks if settings.BERTH_INSTANCE in (row["Labels"] or {}).values())
    named = [str((row["Options"] or {}).get(f"{BRIDGE}.name", "")) for row in ours]
    found = [name for name in named if _BRIDGE.fullmatch(name) and name != former_bridge_name()]
    return sorted({bridge_name(), gateway_bridge_name(), *found})


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


def remove_firewall(connection: Connection, bridges: Sequence[str]) -> bool:
    """Removes the rules for these bridges, here or through the engine. Call it when agents and networks are gone.

    The rules for the former bridge, whose name other installations may share, stay if it still exists. Returns False if
    nobody could look for rules, because the engine has no image for that. Raises `EngineError`.
    """
    unused = list(dict.fromkeys([*bridges, *bridges_with_rules()]))
    if can_set_rules() and _has_rules_here(unused):
        remove_rules(*unused)
        return True
    return run_removal(connection, bridges, unless_here=former_bridge_name())


def _has_rules_here(bridges: Iterable[str]) -> bool:
    try:
        chains = list_chains(PROGRAMS[4])
    except ProgramError:
        return False
    return any(chain in chains for bridge in bridges for rules in rules_for(bridge) for chain in rules.chains)
