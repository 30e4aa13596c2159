"""Helper containers for an agent's volume: to hand it to another user, to keep it in quarantine, to read or fill it.

All are confined like agents. The functions are pure: equal arguments give equal payloads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from containers.agent_contract import DATA_PATH
from containers.hardening import confinement, limits, sized
from containers.vocabulary import QUARANTINE_LABEL, ContainerSpec

HANDOVER_LABEL = "berth.handover"
"""The label of a container that hands a volume over: the agent's name and user. It has none of an agent's labels."""

CARRIER = ":memory"
"""The suffix of that label for a container through which a volume is read or filled."""

COPY_READER, COPY_WRITER = "-source", "-former"
"""Suffixes of the names of the two containers that copy a state. The container of a backup has no suffix."""

COPY_TOO_LARGE = "It takes more than {} MB to keep, holes in files included."
"""What is said of a state that is too large for a copy."""

_HANDOVER = (
    'cd "$1" && chmod go= . && find . -xdev -mindepth 1 -maxdepth 1 -exec chown -Rh "$2" {} + && chown -h "$2" .'
)
"""Symbolic links are handed over, not followed. The directory itself comes last, when everything in it belongs to the
user. Until then it is closed to others, which marks an unfinished handover."""

_HANDOVER_CAPABILITIES = ["CHOWN", "DAC_READ_SEARCH", "FOWNER"]

_NOBODY = 65534
"""The user of containers that never run."""

_WRITABLE = {"ReadonlyRootfs": False}
"""The engine cannot unpack an archive into a read-only root file system. A writable one is discarded."""


def handover_name(name: str) -> str:
    """Returns the name of the container that hands over the volume of the agent of this name."""
    return f"{name}-handover"


def carrier_names(name: str) -> list[str]:
    """Returns the names of all containers that hand over, read or fill this agent's volumes and keep them in use."""
    return [f"{handover_name(name)}{end}" for end in ("", COPY_READER, COPY_WRITER)]


def handover_payload(spec: ContainerSpec, user: int, *, volume: str, runtime: str = "") -> dict[str, Any]:
    """Returns the body of POST /containers/create for the container that hands an agent's state to its new user.

    It runs a shell of the agent's image as root, confined like an agent, without a network and with three capabilities:
    to give files to another user, to find them all, and to remove their setuid bits on the way. It sees only the volume
    and the image, so that no path that an agent left behind leads anywhere else. The root file system is writable
    because the engine cannot unpack an archive into a read-only one; it is discarded.
    """
    confined = {**confinement(user), **_WRITABLE, "CapAdd": _HANDOVER_CAPABILITIES}
    return {
        "Image": spec.image,
        "User": "0:0",
        "Entrypoint": ["/bin/sh", "-c", _HANDOVER, "handover", DATA_PATH, f"{user}:{user}"],
        "Cmd": [],
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "Labels": {HANDOVER_LABEL: f"{spec.name}:{user}"},
        "Healthcheck": {"Test": ["NONE"]},
        "NetworkDisabled": True,
        "HostConfig": {
            **confined,
            **limits(spec),
            "LogConfig": {"Type": "none", "Config": {}},
            "AutoRemove": True,
            "Mounts": [{"Type": "volume", "Source": volume, "Target": DATA_PATH}],
            "NetworkMode": "none",
            **({"Runtime": runtime} if runtime else {}),
        },
    }


def keeper_payload(*, image: str, labels: Mapping[str, str], state: str, since: str) -> dict[str, Any]:
    """Returns the body of POST /containers/create for a container that keeps a volume in quarantine and never starts.

    `image` is any image that the engine has, `labels` are the labels of the container that it replaces, `since` is the
    time of the quarantine.
    """
    options = {"NoCopy": True}
    volume = {"Type": "volume", "Source": state, "Target": DATA_PATH, "ReadOnly": True, "VolumeOptions": options}
    host_config = {**confinement(_NOBODY), "Mounts": [volume]}
    return _never_started("/in-quarantine", image, {**labels, QUARANTINE_LABEL: since}, host_config)


def look_payload(*, image: str, labels: Mapping[str, str], places: Sequence[str]) -> dict[str, Any]:
    """Returns the body of POST /containers/create for a container that never starts, to look into an image through.

    It has no volume, so that at `places`, where the image declares volumes, the engine makes none.
    """
    host_config = {**confinement(_NOBODY, places=places), **_WRITABLE}
    return _never_started("/never-started", image, dict(labels), host_config)


def carrier_payload(
    name: str, *, image: str, volume: str, labels: Mapping[str, str] | None = None, size: int = 0
) -> dict[str, Any]:
    """Returns the body of POST /containers/create for a container that never starts, to read or fill a volume through.

    `image` is any image that the engine has. If the volume does not exist, it is created with these labels and for at
    most `size` bytes; 0 means no limit. The container's name and label are those of a handover, so that the clean-up
    after handovers removes it as well.
    """
    options = {"NoCopy": True, **({"Labels": dict(labels)} if labels else {}), **sized(size)}
    mount = {"Type": "volume", "Source": volume, "Target": DATA_PATH, "VolumeOptions": options}
    host_config = {**confinement(_NOBODY), **_WRITABLE, "Mounts": [mount]}
    return _never_started("/never-started", image, {HANDOVER_LABEL: f"{name}{CARRIER}"}, host_config)


def _never_started(
    entrypoint: str, image: str, labels: Mapping[str, str], host_config: Mapping[str, Any]
) -> dict[str, Any]:
    """`entrypoint` is a program that no image has, so that the container would not even run if it were started."""
    return {
        "Image": image,
        "User": f"{_NOBODY}:{_NOBODY}",
        "Entrypoint": [entrypoint],
        "Cmd": [],
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": labels,
        "NetworkDisabled": True,
        "HostConfig": {
            **host_config,
            "NetworkMode": "none",
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        },
    }
