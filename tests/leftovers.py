"""Removes what a real service leaves on purpose, because its agents outlive it."""

from collections.abc import Mapping
from contextlib import suppress

import docker
import docker.errors

from config.metrics.folders import sweep_folders
from tests.engines import connect, remove_helpers, remove_images, remove_networks


def remove_leftovers(environment: Mapping[str, str]) -> None:
    """Removes containers, volumes, network and firewall rules of the instance that the environment names,
    and the counts of killed services."""
    sweep_folders()
    remove_from_engine(environment["BERTH_INSTANCE"])


def remove_from_engine(instance: str) -> None:
    """Removes everything with the instance's label, and images named after it. Does nothing if no engine answers."""
    chosen = {"label": [f"berth.instance={instance}"]}
    with suppress(docker.errors.DockerException):
        client = connect()
        try:
            remove_helpers(client, instance)  # they keep volumes in use
            for container in client.containers(all=True, filters=chosen):
                client.remove_container(container["Id"], force=True, v=True)
            for volume in client.volumes(filters=chosen)["Volumes"] or []:
                client.remove_volume(volume["Name"], force=True)
            remove_networks(client, instance)
            remove_images(client, instance)
        finally:
            client.close()
