"""Puts the volumes of agents' states on shared storage if a driver is set, with one folder for each agent.

Docker's own driver mounts a folder that all nodes share, for example over NFS, but does not create it. Berth creates it
through the engine that it is connected to.
"""

import io
import tarfile
from contextlib import suppress
from typing import Any

from django.conf import settings

from containers.agent_contract import DATA_PATH
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineError
from containers.identity import container_name
from containers.outbound.call_limits import time_of_its_own
from containers.swarm.states.state_writer import remove_left
from containers.vocabulary import ContainerSpec
from containers.volume_containers import carrier_payload, handover_name

AGENT = "{agent}"
"""The placeholder for the agent's name in `BERTH_SWARM_VOLUME_OPTIONS`."""

SILENCE, CLEANING = 20.0, 5.0
"""Seconds without a sign of the engine, and for removing the container that created the folder."""


def volume_driver(name: str) -> dict[str, Any]:
    """Returns the driver of this agent's volume in the words of a service; empty if volumes are on each node's disk."""
    driver, options = settings.BERTH_SWARM_VOLUME_DRIVER, settings.BERTH_SWARM_VOLUME_OPTIONS
    return (
        {"Name": driver, "Options": {key: text.replace(AGENT, name) for key, text in options.items()}} if driver else {}
    )


def make_folder(connection: Connection, spec: ContainerSpec, image: str) -> None:
    """Creates the agent's folder, readable for its user only, unless it exists. Does nothing with other drivers."""
    device = settings.BERTH_SWARM_VOLUME_OPTIONS.get("device", "")
    if settings.BERTH_SWARM_VOLUME_DRIVER != "local" or not device.endswith(f"/{AGENT}"):
        return
    above = {**settings.BERTH_SWARM_VOLUME_OPTIONS, "device": device.removesuffix(f"/{AGENT}")}
    payload = carrier_payload(container_name(spec.key), image=image, volume="")
    options = {"NoCopy": True, "DriverConfig": {"Name": "local", "Options": above}}
    payload["HostConfig"]["Mounts"] = [{"Type": "volume", "Target": DATA_PATH, "VolumeOptions": options}]
    own = handover_name(spec.name)
    remove_left(connection, own)
    with connection.call(about_one=True) as client, understand_answer():
        carrier = str(client.create_container_from_config(payload, own)["Id"])
    try:
        with connection.call(about_one=True) as client:
            client.put_pieces(carrier, DATA_PATH, [_pack_folder(spec)], silence=SILENCE)
    finally:
        with time_of_its_own(CLEANING), suppress(EngineError, MissingError), connection.call() as client:
            client.remove_container(carrier, v=True, force=True)


def _pack_folder(spec: ContainerSpec) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        folder = tarfile.TarInfo(spec.name)
        folder.type, folder.mode, folder.uid, folder.gid = tarfile.DIRTYPE, 0o700, spec.user, spec.user
        archive.addfile(folder)
    return packed.getvalue()
