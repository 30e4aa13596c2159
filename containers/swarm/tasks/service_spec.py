"""The body of POST /services/create for an agent. Pure: equal arguments give equal payloads.

An agent is confined as `containers.hardening` says for a container. `containers.swarm.confinement` lists what a service
cannot have.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from containers.agent_contract import DATA_PATH, RUN_PATH, SECRETS_PATH
from containers.gateway.vocabulary import Reach
from containers.hardening import MEBIBYTE, NO_NAMES, SECCOMP_PROFILE, ULIMITS, container_labels, data_volume
from containers.vocabulary import ContainerSpec

IMAGE_LABEL = "berth.image"
"""The label that holds the id of the service's image, because the service may name it by its digest in the registry."""

HOME_LABEL = "berth.home"
"""The label that holds the id of the node with the agent's state, if the agent is bound to that node."""

KEPT_ON_LABEL = "berth.kept-on"
"""The label that holds the ids of the nodes on which the agent has run and left state, because a Swarm forgets them."""

COPIED_ON_LABEL = "berth.copied-on"
"""The label that holds the id of the node with a copy of the agent's state, to which the agent is bound meanwhile."""

CRASHES_LABEL = "berth.crashes"
"""The label that counts the agent's crashes up to a given task, because a Swarm forgets old tasks."""

OWN_LABELS = frozenset({IMAGE_LABEL, CRASHES_LABEL, HOME_LABEL, KEPT_ON_LABEL, COPIED_ON_LABEL})
"""Labels of services that no container has."""

RESTART_DELAY, RESTART_WINDOW = 2.0, 120.0
"""Seconds between the end of an agent and its next start, and how long a run must last to count as successful."""

HELD = "node.id == held"
"""A constraint that no node meets. A service with it runs no task but keeps the one that ended."""

_SECONDS = 1_000_000_000


def service_payload(
    spec: ContainerSpec,
    *,
    image: tuple[str, str],
    network: str,
    secrets: Mapping[str, str],
    api: tuple[int, int],
    volume: Mapping[str, Any],
    constraints: Sequence[str] = (),
    name_servers: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns a service without tasks. `image` is the name by which nodes know the image, and its id.

    `secrets` holds the ids of the Swarm's secrets by `name/file`. `volume` is the driver of the agent's state volume,
    as `Name` and `Options`.
    """
    container = {
        **_program(spec, image[0]),
        **confinement(api),
        **_names(spec, name_servers),
        "Mounts": _mounts(spec, volume),
        "Secrets": [_secret(spec, name, secret) for name, secret in sorted(secrets.items())],
    }
    return {
        "Name": spec.name,
        "Labels": {**container_labels(spec), IMAGE_LABEL: image[1]},
        "Mode": {"Replicated": {"Replicas": 0}},
        "EndpointSpec": {"Mode": "dnsrr"},
        "UpdateConfig": {"Parallelism": 1, "Order": "stop-first", "FailureAction": "pause"},
        "TaskTemplate": {
            **_template(spec, api, constraints),
            "ContainerSpec": container,
            "Networks": [{"Target": network}],
        },
    }


def _program(spec: ContainerSpec, image: str) -> dict[str, Any]:
    return {
        "Image": image,
        "Labels": container_labels(spec),
        "Env": [f"{name}={value}" for name, value in sorted(spec.environment.items())],
        "User": f"{spec.user}:{spec.user}",
        "StopSignal": "SIGTERM",
        "StopGracePeriod": spec.stop_timeout * _SECONDS,
        "HealthCheck": {"Test": ["NONE"]},  # a Swarm kills unhealthy tasks; agents report their health in the log
    }


def _template(spec: ContainerSpec, api: tuple[int, int], constraints: Sequence[str]) -> dict[str, Any]:
    """Returns how the task is restarted, placed, logged and limited."""
    return {
        "Resources": _resources(spec, api),
        "RestartPolicy": {
            "Condition": "any",
            "Delay": int(RESTART_DELAY * _SECONDS),
            "Window": int(RESTART_WINDOW * _SECONDS),
            "MaxAttempts": 0,
        },
        "Placement": {"Constraints": list(constraints)},
        "LogDriver": {
            "Name": "local",
            "Options": {"max-size": "10m", "max-file": "3", "mode": "non-blocking", "max-buffer-size": "1m"},
        },
        "ForceUpdate": 0,
    }


def confinement(api: tuple[int, int]) -> dict[str, Any]:
    """Returns what confines an agent, as far as a service of this API supports it."""
    held = {
        "Init": True,
        "ReadOnly": True,
        "TTY": False,
        "OpenStdin": False,
        "CapabilityDrop": ["ALL"],
        "CapabilityAdd": [],
        "Ulimits": [{"Name": name, "Soft": soft, "Hard": hard} for name, soft, hard in ULIMITS],
    }
    if api < (1, 44):
        return held
    seccomp = {"Mode": "custom", "Profile": base64.b64encode(SECCOMP_PROFILE.encode()).decode()}
    return {**held, "Privileges": {"NoNewPrivileges": True, "Seccomp": seccomp}}


def _resources(spec: ContainerSpec, api: tuple[int, int]) -> dict[str, Any]:
    """Reserves the plan's memory, so that a node never takes more agents than fit. Allows no swap."""
    swap = {"SwapBytes": 0} if api >= (1, 52) else {}
    return {
        "Limits": {"MemoryBytes": spec.memory, "NanoCPUs": spec.nano_cpus, "Pids": spec.pids},
        "Reservations": {"MemoryBytes": spec.memory},
        **swap,
    }


def _mounts(spec: ContainerSpec, volume: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Engines mount the tmpfs mounts of services with nosuid, nodev and noexec."""
    options: dict[str, Any] = {"Labels": container_labels(spec)}
    options |= {"DriverConfig": dict(volume)} if volume else {}
    if volume.get("Name") == "local":
        options["NoCopy"] = True  # otherwise its folder would get the owner of the image's directory
    return [
        {"Type": "volume", "Source": data_volume(spec.name), "Target": DATA_PATH, "VolumeOptions": options},
        _in_memory("/tmp", 64, 0o1777),  # noqa: S108 - a mount inside the container
        own_directory(RUN_PATH, f"size=1m,mode=0755,uid={spec.user},gid={spec.user}"),
        # A Swarm mounts secrets file by file below this. The image's own directory might not be readable.
        own_directory(SECRETS_PATH, "size=64k,mode=0755"),
        _in_memory("/dev/shm", 16, 0o1777),  # noqa: S108 - a mount inside the container
    ]


def in_memory_at(places: Iterable[str]) -> list[dict[str, Any]]:
    """Returns mounts at the places where the image declares volumes, for which engines would make others."""
    own = {"/tmp", "/dev/shm"}  # noqa: S108 - mounts inside the container
    return [_in_memory(path, 64, 0o1777) for path in places if path not in own]


def own_directory(path: str, options: str) -> dict[str, Any]:
    """Returns a directory in memory as an unnamed volume, which is removed with its container.

    A service's tmpfs mount cannot set an owner, and gets the mode of the image's directory.
    """
    mount = {"type": "tmpfs", "device": "tmpfs", "o": f"{options},noexec,nosuid,nodev"}
    made = {"NoCopy": True, "DriverConfig": {"Name": "local", "Options": mount}}
    return {"Type": "volume", "Target": path, "VolumeOptions": made}


def _in_memory(path: str, mebibytes: int, mode: int) -> dict[str, Any]:
    return {"Type": "tmpfs", "Target": path, "TmpfsOptions": {"SizeBytes": mebibytes * MEBIBYTE, "Mode": mode}}


def _secret(spec: ContainerSpec, name: str, secret: str) -> dict[str, Any]:
    """Returns a secret owned by root and readable for the agent's group. `name` is `<secret>/<file>`."""
    own, _, file = name.partition("/")
    opened = {"Name": file, "UID": "0", "GID": str(spec.user), "Mode": 0o440}
    return {"SecretID": secret, "SecretName": own, "File": opened}


def _names(spec: ContainerSpec, name_servers: Sequence[str]) -> dict[str, Any]:
    """Follows the rules of `containers.hardening` for a container."""
    if spec.reach is Reach.GATEWAY:
        return {"DNSConfig": {"Nameservers": [NO_NAMES], "Options": ["timeout:1", "attempts:1"]}}
    return {"DNSConfig": {"Nameservers": list(name_servers)}} if name_servers else {}
