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
from containers.hardening import MEBIBYTE, SECCOMP_PROFILE
from containers.identity import helper_labels
from containers.outbound.call_limits import time_limit
from containers.vocabulary import DiskUse, Volume

LABEL = "berth.measures"
"""The label of these containers; its value is the instance. Their only other label is the installation's id, because
they are no agents."""

LIMIT = 60.0
"""Seconds for one container."""

_LOOK_EVERY = 0.2
_LEFT_BEHIND = timedelta(minutes=5)

_COUNT_FOR, _COUNT_PART_FOR = 40, 12
"""Seconds for a whole volume, and then for a part of it if the whole takes longer. Their sum is below `LIMIT`."""

_SCRIPT = r"""
exact='
    files=$(find . -xdev -mindepth 1 -print0 | tr -dc "\0" | head -c "$2" | wc -c)
    size=0
    test "$files" -ge "$2" || size=$(du -skx . | { read -r size _ && echo "$size"; })
    echo "measured $1 $files $size"
'
batch='set -- "$#" $(du -skc "$@" | tail -n 1); echo "$1 $2"'
measure() {
    cd "/v/$1" || return
    timeout "$3" sh -c "$exact" exact "$1" "$2" && return
    timeout "$4" find . -xdev -mindepth 1 ! -type d -links 1 -exec sh -c "$batch" batch {} + | {
        files=0 size=0
        while read -r more kilobytes; do files=$((files + more)) size=$((size + kilobytes)); done
        echo "at-least $1 $files $size"
    }
}
"""
"""Names may contain line breaks, so NUL bytes are counted. `head` limits the count, because an agent may create any
number of files. In a partial count nothing counts twice: it counts only files with a single link, and of each batch
only the total that `du` prints last."""


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
        times = f"{_COUNT_FOR} {_COUNT_PART_FOR}"
        lines = [f"(measure {place} {most[state.key]} {times}) &" for place, state in enumerate(states)]
        script = "\n".join([_SCRIPT, *lines, _END])
        with time_limit(LIMIT + 20.0):
            container_id = self._create(script, states)
            try:
                with self._connection.call(about_one=True) as client:
                    client.start(container_id)
                printed = self._read(container_id)
            finally:
                self._remove(container_id)
                self._unmake(states)
        for line in printed.splitlines():
            match line.split():
                case ["measured" | "at-least" as how, place, files, size] if int(place) < len(states):
                    is_part = how == "at-least"
                    yield states[int(place)].key, DiskUse(used=int(size) * 1024, files=int(files), is_part=is_part)

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
        deadline = time.monotonic() + LIMIT
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
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
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
            "Memory": 256 * MEBIBYTE,
            "MemorySwap": 256 * MEBIBYTE,
            "NanoCpus": 500_000_000,
            "PidsLimit": 128,
            "LogConfig": {"Type": "local", "Config": {"max-size": "1m", "max-file": "2"}},
            "Mounts": [_mount(place, name, labels) for place, (name, labels) in enumerate(volumes)],
        },
    }


def _mount(place: int, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": name,
        "Target": f"/v/{place}",
        "ReadOnly": True,
        "VolumeOptions": {"NoCopy": True, "Labels": dict(labels)},
    }
