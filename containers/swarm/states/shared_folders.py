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
from containers.hardening import COPY
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


def has_folders() -> bool:
    """Whether Berth creates the agents' folders in the shared storage, and so can create one for a copy."""
    device = settings.BERTH_SWARM_VOLUME_OPTIONS.get("device", "")
    return bool(settings.BERTH_SWARM_VOLUME_DRIVER == "local" and device.endswith(f"/{AGENT}"))


def make_folder(connection: Connection, spec: ContainerSpec, image: str) -> None:
    """Creates the agent's folder, readable for its user only, unless it exists. Does nothing with other drivers."""
    if has_folders():
        _make(connection, spec.key, _pack_folder(spec.name, spec.user), image)


def make_copy_folder(connection: Connection, key: str, image: str) -> None:
    """Creates the folder for a copy of the agent's state, readable for root only, unless it exists."""
    _make(connection, key, _pack_folder(f"{container_name(key)}{COPY}", 0), image)


def _make(connection: Connection, key: str, folder: bytes, image: str) -> None:
    device = settings.BERTH_SWARM_VOLUME_OPTIONS["device"]
    above = {**settings.BERTH_SWARM_VOLUME_OPTIONS, "device": device.removesuffix(f"/{AGENT}")}
    payload = carrier_payload(container_name(key), image=image, volume="")
    options = {"NoCopy": True, "DriverConfig": {"Name": "local", "Options": above}}
    payload["HostConfig"]["Mounts"] = [{"Type": "volume", "Target": DATA_PATH, "VolumeOptions": options}]
    own = handover_name(container_name(key))
    remove_left(connection, own)
    with connection.call(about_one=True) as client, understand_answer():
        carrier = str(client.create_container_from_config(payload, own)["Id"])
    try:
        with connection.call(about_one=True) as client:
            client.put_pieces(carrier, DATA_PATH, [folder], silence=SILENCE)
    finally:
        with time_of_its_own(CLEANING), suppress(EngineError, MissingError), connection.call(about_one=True) as client:
            client.remove_container(carrier, v=True, force=True)


def _pack_folder(name: str, user: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        folder = tarfile.TarInfo(name)
        folder.type, folder.mode, folder.uid, folder.gid = tarfile.DIRTYPE, 0o700, user, user
        archive.addfile(folder)
    return packed.getvalue()
