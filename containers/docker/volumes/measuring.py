"""Runs the container that measures volumes. It reads everything in them, changes nothing, and has no network."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings

from containers.docker.helpers import find_left_behind, remove_helper
from containers.docker_api.answers import read_volumes
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineError
from containers.hardening import SECCOMP_PROFILE
from containers.identity import helper_labels
from containers.outbound.call_limits import time_limit
from containers.vocabulary import DiskUse, Volume
from containers.volume_sizes import (
    COUNTING_LIMIT,
    MEMORY,
    NANO_CPUS,
    PATH,
    PIDS,
    counting_script,
    counting_target,
    read_counts,
)

LABEL = "berth.measures"
"""The label of these containers; its value is the instance. Their only other label is the installation's id, because
they are no agents."""

_LOOK_EVERY = 0.2
_LEFT_BEHIND = timedelta(minutes=5)

_DONE = "measured all"
_END = f"wait; echo {_DONE}; sleep 20"
"""The `sleep` leaves time to read the output. Then the container ends, because it keeps volumes in use."""


class Measuring:
    """Runs measuring containers from one image."""

    def __init__(self, connection: Connection, image: str) -> None:
        self._connection = connection
        self._image = image

    def run(self, states: Sequence[Volume], most: Mapping[str, int]) -> Iterator[tuple[str, DiskUse]]:
        """Yields what is known about these volumes after a minute at the latest. Raises `EngineError` on failure."""
        script = f"{counting_script([most[state.key] for state in states])}\n{_END}"
        with time_limit(COUNTING_LIMIT + 20.0):
            container_id = self._create(script, states)
            try:
                with self._connection.call(about_one=True) as client:
                    client.start(container_id)
                printed = self._read(container_id)
            finally:
                self._remove(container_id)
                self._unmake(states)
        yield from read_counts(printed, [state.key for state in states])

    def remove_left_behind(self) -> None:
        """Removes containers whose process was killed before it could do so, or that hung longer than anyone waited."""
        for container_id in find_left_behind(self._connection, LABEL, after=_LEFT_BEHIND):
            self._remove(container_id)

    def _create(self, script: str, states: Sequence[Volume]) -> str:
        payload = measuring_payload(script, [(each.name, each.labels) for each in states], image=self._image)
        name = f"{settings.BERTH_INSTANCE}-measures-{uuid4().hex[:8]}"
        with self._connection.call(about_one=True) as client, understand_answer():
            return str(client.create_container_from_config(payload, name)["Id"])

    def _read(self, container_id: str) -> str:
        """Returns the output when the container is done, or when its time is over."""
        deadline = time.monotonic() + COUNTING_LIMIT
        while True:
            with self._connection.call(about_one=True) as client:
                printed: str = client.logs(container_id, stdout=True, stderr=False).decode(errors="replace")
            if _DONE in printed or time.monotonic() >= deadline:
                return printed
            time.sleep(_LOOK_EVERY)

    def _remove(self, container_id: str) -> None:
        """Removes the container. If it hangs in the kernel and cannot be removed, a later measurement tries again."""
        with suppress(EngineError):
            remove_helper(self._connection, container_id)

    def _unmake(self, states: Sequence[Volume]) -> None:
        """Removes volumes that were removed just before, and that the engine has created again for our container.

        If an agent already uses the new volume, the engine refuses.
        """
        with suppress(EngineError):
            for state in states:
                with suppress(MissingError, ConflictError), self._connection.call() as client:
                    now = read_volumes({"Volumes": [client.inspect_volume(state.name)]})[0]
                    if now.created_at != state.created_at:
                        client.remove_volume(state.name)


def measuring_payload(script: str, volumes: Sequence[tuple[str, Mapping[str, str]]], *, image: str) -> dict[str, Any]:
    """Returns the body of POST /containers/create. It runs as root, because each volume has its own user; it may only
    read.

    If a volume is gone meanwhile, the engine creates an empty one, with the labels that the volume had.
    """
    return {
        "Image": image,
        "User": "0:0",
        "Entrypoint": ["/bin/sh", "-c", script],
        "Cmd": [],
        "Env": [PATH],
        "Labels": helper_labels(LABEL),
        "Healthcheck": {"Test": ["NONE"]},
        "NetworkDisabled": True,
        "HostConfig": {
            "NetworkMode": "none",
            "CapDrop": ["ALL"],
            "CapAdd": ["DAC_READ_SEARCH"],
            "SecurityOpt": ["no-new-privileges:true", f"seccomp={SECCOMP_PROFILE}"],
            "ReadonlyRootfs": True,
            "IpcMode": "private",
            "Init": True,
            "AutoRemove": True,
            "Memory": MEMORY,
            "MemorySwap": MEMORY,
            "NanoCpus": NANO_CPUS,
            "PidsLimit": PIDS,
            "LogConfig": {"Type": "local", "Config": {"max-size": "1m", "max-file": "2"}},
            "Mounts": [_mount(place, name, labels) for place, (name, labels) in enumerate(volumes)],
        },
    }


def _mount(place: int, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": name,
        "Target": counting_target(place),
        "ReadOnly": True,
        "VolumeOptions": {"NoCopy": True, "Labels": dict(labels)},
    }
