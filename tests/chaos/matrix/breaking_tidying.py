"""What people and clean-up programs do to what containers need: images, networks, rules, logs and names."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import docker

from containers.vocabulary import INSTANCE_LABEL
from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation


@contextmanager
def image_removed(installation: Installation) -> Iterator[None]:
    """`docker rmi --force`, which removes the name of an image whose containers run, and the whole image otherwise."""
    client, name = installation.instance.client, installation.instance.image
    found = client.inspect_image(name)["Id"]
    client.tag(found, "kept", "aside")
    client.remove_image(name, force=True)
    try:
        yield
    finally:
        repository, _, tag = name.partition(":")
        client.tag("kept:aside", repository, tag)
        client.remove_image("kept:aside")


@contextmanager
def layer_missing(installation: Installation) -> Iterator[None]:
    """A part of the image is missing on the engine's disk, and the engine does not know."""
    image = installation.instance.client.inspect_image(installation.instance.image)
    layer = image["GraphDriver"]["Data"]["UpperDir"].removesuffix("/diff")
    installation.engine.run("mv", layer, f"{layer}.away")
    try:
        yield
    finally:
        installation.engine.run("mv", f"{layer}.away", layer)


def _networks(installation: Installation) -> list[Any]:
    client = installation.instance.client
    found = client.networks(filters={"label": f"{INSTANCE_LABEL}={installation.instance.name}"})
    return [client.inspect_network(each["Id"]) for each in found]


def _disconnect(installation: Installation) -> None:
    for network in _networks(installation):
        for container in network["Containers"]:
            with suppress(docker.errors.APIError):
                installation.instance.client.disconnect_container_from_network(container, network["Id"], force=True)


@contextmanager
def disconnected(installation: Installation) -> Iterator[None]:
    _disconnect(installation)
    yield


@contextmanager
def networks_removed(installation: Installation) -> Iterator[None]:
    _disconnect(installation)
    for network in _networks(installation):
        with suppress(docker.errors.APIError):  # the service was quicker
            installation.instance.client.remove_network(network["Id"])
    yield


@contextmanager
def bridges_removed(installation: Installation) -> Iterator[None]:
    """As a network manager does that does not know them. Until the engine creates them again, no packet passes."""
    for network in _networks(installation):
        name = network["Options"].get("com.docker.network.bridge.name") or f"br-{network['Id'][:12]}"
        subprocess.run(["ip", "link", "delete", name], check=True)
    yield


@contextmanager
def rules_flushed(installation: Installation) -> Iterator[None]:
    """Everything in the kernel's firewall, including the engine's chains, as a script does that starts from scratch."""
    kept = subprocess.run(["iptables-save"], capture_output=True, check=True).stdout
    for table in ("filter", "nat"):
        for forget in ("-F", "-X"):
            subprocess.run(["iptables", "-w", "-t", table, forget], check=True)
    try:
        yield
    finally:
        subprocess.run(["iptables-restore", "-w"], input=kept, check=True)


def _in_logs(*act: str) -> Breaking:
    @contextmanager
    def done(installation: Installation) -> Iterator[None]:
        folder = str(installation.engine.home / installation.engine.data / "containers")
        installation.engine.run("find", folder, "-name", "*.log", *act)
        yield

    return done


@contextmanager
def data_away(installation: Installation) -> Iterator[None]:
    """The data directory, as if another machine keeps it and is away."""
    data, away = installation.service_disk.path / "var", installation.service_disk.path / "away"
    data.rename(away)
    try:
        yield
    finally:
        if data.exists():
            data.rename(installation.service_disk.path / "made meanwhile")
        away.rename(data)


def rename(client: Any, container: str) -> None:
    client.rename(container, f"renamed-{container[:12]}")


def recreate(client: Any, container: str) -> None:
    """With everything that the old one had, as programs do that look for new images."""
    old = client.inspect_container(container)
    config = old["Config"] | {"HostConfig": old["HostConfig"]}
    networks = {name: {"Aliases": given["Aliases"]} for name, given in old["NetworkSettings"]["Networks"].items()}
    client.stop(container, timeout=1)
    client.remove_container(container)
    config["NetworkingConfig"] = {"EndpointsConfig": networks}
    client.start(client.create_container_from_config(config, old["Name"].removeprefix("/")))


BY_TIDYING: Mapping[str, Breaking] = {
    "image removed": image_removed,
    "image without a layer": layer_missing,
    "disconnect all": disconnected,
    "remove all networks": networks_removed,
    "remove all bridges": bridges_removed,
    "flush the firewall": rules_flushed,
    "empty all logs": _in_logs("-exec", "truncate", "-s", "0", "{}", "+"),
    "remove all logs": _in_logs("-delete"),
    "data directory away": data_away,
}
