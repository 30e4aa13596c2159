"""The Docker engine of the tests, which `DOCKER_HOST` names. docker-py's own client ignores that variable."""

import os
import re
from contextlib import suppress
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import docker
from docker.utils import kwargs_from_env

from containers.docker.gateway.payload import LABEL as GATEWAY_LABEL
from containers.docker.networks.rules_container import LABEL
from containers.firewall.bridge import is_here
from containers.firewall.iptables import remove_rules
from containers.identity import NAME_DIGITS
from containers.programs import ProgramError, run_program
from containers.vocabulary import INSTANCE_LABEL
from containers.volume_containers import HANDOVER_LABEL
from tests.waiting import wait_until

USUAL = "unix:///var/run/docker.sock"


def connect(address: str | None = None, *, timeout: int = 120) -> docker.APIClient:
    """`address` names another engine than the usual one. Raises `DockerException` if no engine answers."""
    options = {"base_url": address} if address else kwargs_from_env()
    place = str(options.get("base_url") or USUAL)
    # docker-py does not close a socket that it cannot connect.
    if place.startswith("unix://") and not Path(place.removeprefix("unix://")).exists():
        raise docker.errors.DockerException(f"There is no engine at {place}.")
    return docker.APIClient(version="auto", timeout=timeout, **options)


def instance_of_helper(labels: dict[str, str] | None) -> str:
    """Returns the instance whose killed process has left this helper container; empty if it is none."""
    found = re.fullmatch(rf"(.+)-(image|[0-9a-f]{{{NAME_DIGITS}}}):[^:]+", (labels or {}).get(HANDOVER_LABEL, ""))
    return found[1] if found else ""


def remove_helpers(client: Any, instance: str) -> None:
    """Removes the containers through which a killed process has looked into an image or read a volume."""
    for helper in client.containers(all=True, filters={"label": [HANDOVER_LABEL]}):
        if instance_of_helper(helper["Labels"]) == instance:
            with suppress(docker.errors.APIError):  # it may end by itself
                client.remove_container(helper["Id"], force=True)


def remove_networks(client: Any, instance: str) -> None:
    """Removes the networks of this instance, with their firewall rules, its gateway and its helpers, of any
    installation.
    """
    remove_helpers(client, instance)
    for helper in client.containers(all=True, filters={"label": [f"{LABEL}={instance}"]}):
        with suppress(docker.errors.APIError):  # a probe of a killed watcher, which may end by itself
            client.remove_container(helper["Id"], force=True)
    for gateway in client.containers(all=True, filters={"label": [f"{GATEWAY_LABEL}={instance}"]}):
        client.remove_container(gateway["Id"], force=True)
    for volume in client.volumes(filters={"label": [f"{GATEWAY_LABEL}={instance}"]})["Volumes"] or []:
        client.remove_volume(volume["Name"], force=True)
    for network in client.networks(filters={"label": [f"{INSTANCE_LABEL}={instance}"]}):
        bridge = network["Options"].get("com.docker.network.bridge.name")
        with suppress(AssertionError):  # Docker 20.10 may keep it forever, which is not Berth's fault
            wait_until(partial(_remove_network, client, network["Id"]), within=20.0)
        if bridge:
            remove_bridge(bridge)


def remove_bridge(name: str) -> None:
    """Removes the interface with its firewall rules. An ending engine leaves it, and older engines forget it."""
    os.environ.setdefault(
        "DJANGO_SETTINGS_MODULE", "tests.settings"
    )  # the rules depend on some, also outside of pytest
    remove_rules(name)
    if is_here(name):
        with suppress(ProgramError):
            run_program("ip", "link", "delete", "dev", name, seconds=20.0)


def remove_images(client: Any, instance: str) -> None:
    """Removes the images that tests have made for this instance alone."""
    for name in names_of_images(client):
        if instance in name:
            with suppress(docker.errors.APIError):  # others may have built on it
                client.remove_image(name, force=True)


def names_of_images(client: Any) -> list[str]:
    """Returns the names of the images of tests."""
    return [name for each in client.images() for name in each["RepoTags"] or [] if name.startswith("berth-test/")]


def _remove_network(client: Any, network: str) -> bool:
    """Returns whether it is gone. An engine on which many containers end at once may keep an endpoint for a while, or
    forever."""
    with suppress(docker.errors.NotFound):
        for endpoint in (client.inspect_network(network).get("Containers") or {}).values():
            with suppress(docker.errors.APIError):
                client.disconnect_container_from_network(endpoint["Name"], network, force=True)
        try:
            client.remove_network(network)
        except docker.errors.APIError as error:
            if "active endpoints" in str(error):
                return False
            raise
    return True


def address_of_host() -> str:
    """Returns the address under which containers reach this machine: that of the engine's default bridge."""
    client = connect()
    try:
        pool = client.inspect_network("bridge")["IPAM"]["Config"][0]
    finally:
        client.close()
    # Older engines do not name the gateway, which has the first address.
    return str(pool.get("Gateway") or next(ip_network(pool["Subnet"]).hosts()))
