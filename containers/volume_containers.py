"""The containers that are made for an agent's volume: one hands it to another user, one holds on to it in quarantine,
and through one it is read and filled.

All are confined as agents are. Pure: equal arguments give equal payloads.
"""

from collections.abc import Mapping
from typing import Any

from containers.agent_contract import DATA_PATH
from containers.hardening import confinement, limits, sized
from containers.vocabulary import QUARANTINE_LABEL, ContainerSpec

HANDOVER_LABEL = "berth.handover"
"""The label of a container that hands a volume over, with the agent's name and user. It carries none of an agent's."""

CARRIER = ":memory"
"""How that label ends for a container through which a volume is read or filled."""

COPY_READER, COPY_WRITER = "-source", "-former"
"""How the names end of the two through which a state is copied. A backup reads through one without such an end."""

_HANDOVER = (
    'cd "$1" && chmod go= . && find . -xdev -mindepth 1 -maxdepth 1 -exec chown -Rh "$2" {} + && chown -h "$2" .'
)
"""Links are handed over, not followed. The directory itself comes last: it is the user's once all in it is. Until then
it is closed to others, which says that this goes on."""

_HANDOVER_CAPABILITIES = ["CHOWN", "DAC_READ_SEARCH", "FOWNER"]

_NOBODY = 65534
"""The user of what never runs."""


def handover_name(name: str) -> str:
    """The container that hands over the volume of the agent of this name."""
    return f"{name}-handover"


def carrier_names(name: str) -> list[str]:
    """All through which the volumes of the agent of this name are read and filled. Each holds on to its volume."""
    return [f"{handover_name(name)}{end}" for end in ("", COPY_READER, COPY_WRITER)]


def handover_payload(spec: ContainerSpec, user: int, *, volume: str, runtime: str = "") -> dict[str, Any]:
    """The body of POST /containers/create for the container that hands the volume of an agent's state to its user.

    It runs a shell of the agent's image as root, confined like an agent, without a network and with three capabilities:
    to give files to another user, to find them all, and to take the setuid bit from them on the way. Nothing but the
    volume and the image can be seen there, so that no path that an agent has left leads anywhere else. The root file
    system can be written to, because the engine puts no archive where it cannot; it is thrown away.
    """
    confined = {**confinement(user), "ReadonlyRootfs": False, "CapAdd": _HANDOVER_CAPABILITIES}
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
    """The body of POST /containers/create for a container in quarantine, which holds on to a volume and never starts.

    `image` is any image that the engine has, `labels` are those of the container whose place it takes, `since` is when.
    """
    options = {"NoCopy": True}
    volume = {"Type": "volume", "Source": state, "Target": DATA_PATH, "ReadOnly": True, "VolumeOptions": options}
    return {
        "Image": image,
        "User": f"{_NOBODY}:{_NOBODY}",
        "Entrypoint": ["/in-quarantine"],
        "Cmd": [],
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": {**labels, QUARANTINE_LABEL: since},
        "NetworkDisabled": True,
        "HostConfig": {
            **confinement(_NOBODY),
            "Mounts": [volume],
            "NetworkMode": "none",
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        },
    }


def carrier_payload(
    name: str, *, image: str, volume: str, labels: Mapping[str, str] | None = None, size: int = 0
) -> dict[str, Any]:
    """The body of POST /containers/create for a container through which a volume is read or filled. It never starts.

    `image` is any image that the engine has. The volume is made with these labels, and for so many bytes at the most,
    where there is none; 0 is no limit. The container's name and label are those of a handover, so that a clean-up of
    what handovers have left removes it as well.
    """
    options = {"NoCopy": True, **({"Labels": dict(labels)} if labels else {}), **sized(size)}
    return {
        "Image": image,
        "User": f"{_NOBODY}:{_NOBODY}",
        "Entrypoint": ["/never-started"],
        "Cmd": [],
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": {HANDOVER_LABEL: f"{name}{CARRIER}"},
        "NetworkDisabled": True,
        "HostConfig": {
            **confinement(_NOBODY),
            "ReadonlyRootfs": False,  # the engine puts no archive where it cannot write; it is thrown away
            "Mounts": [{"Type": "volume", "Source": volume, "Target": DATA_PATH, "VolumeOptions": options}],
            "NetworkMode": "none",
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        },
    }
