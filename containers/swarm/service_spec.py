"""The body of POST /services/create for an agent. Pure: equal arguments give equal payloads.

What confines the agent is what `containers.hardening` says for a container, in the words of a service. What a service
cannot say stands in `containers.swarm.what_specs_hold`.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from containers.agent_contract import DATA_PATH, RUN_PATH, SECRETS_PATH
from containers.gateway.words import Reach
from containers.hardening import MEBIBYTE, NO_NAMES, SECCOMP_PROFILE, ULIMITS, container_labels, data_volume
from containers.vocabulary import ContainerSpec

IMAGE_LABEL = "berth.image"
"""The label that holds the id of the service's image, which the service itself may name by its registry's digest."""

HOME_LABEL = "berth.home"
"""The label that holds the id of the node that has what the agent remembers, where it is bound to that node."""

KEPT_ON_LABEL = "berth.kept-on"
"""The label that holds the ids of the nodes on which it has run, and left what it remembers: a Swarm forgets."""

CRASHES_LABEL = "berth.crashes"
"""The label that says how often the agent has ended by itself, up to the task that was made then: a Swarm forgets."""

RESTART_DELAY, RESTART_WINDOW = 2.0, 120.0
"""Seconds between the end of an agent and its next start, and after which a run that lasted counts as a good one."""

HELD = "node.id == held"
"""A constraint that no node meets. With it a service has no task that runs, and keeps the one that ended."""

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
    """A service that has no task yet. `image` is how the nodes know it, and its id here.

    `secrets` are the ids of the Swarm's secrets by their names and files, `volume` the driver of the volume of the
    agent's state, as `Name` and `Options`.
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
        "HealthCheck": {"Test": ["NONE"]},  # a Swarm ends what is not healthy; agents report by their log
    }


def _template(spec: ContainerSpec, api: tuple[int, int], constraints: Sequence[str]) -> dict[str, Any]:
    """How it is restarted, placed and logged, and what it takes."""
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
    """What keeps the agent inside, as far as a service of this API can say it."""
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
    """The plan's memory is reserved, so that a node never takes more agents than it can hold. No swap."""
    swap = {"SwapBytes": 0} if api >= (1, 52) else {}
    return {
        "Limits": {"MemoryBytes": spec.memory, "NanoCPUs": spec.nano_cpus, "Pids": spec.pids},
        "Reservations": {"MemoryBytes": spec.memory},
        **swap,
    }


def _mounts(spec: ContainerSpec, volume: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those in memory are nosuid, nodev and noexec, as engines mount all that a service has."""
    options: dict[str, Any] = {"Labels": container_labels(spec)}
    options |= {"DriverConfig": dict(volume)} if volume else {}
    if volume.get("Name") == "local":
        options["NoCopy"] = True  # its folder has its owner, and would get that of the image's directory
    return [
        {"Type": "volume", "Source": data_volume(spec.name), "Target": DATA_PATH, "VolumeOptions": options},
        _in_memory("/tmp", 64, 0o1777),  # noqa: S108 - a mount inside the container
        own_directory(RUN_PATH, f"size=1m,mode=0755,uid={spec.user},gid={spec.user}"),
        # Below the files of the secrets, which a Swarm mounts one by one: the image's own directory may be closed.
        own_directory(SECRETS_PATH, "size=64k,mode=0755"),
        _in_memory("/dev/shm", 16, 0o1777),  # noqa: S108 - a mount inside the container
    ]


def own_directory(path: str, options: str) -> dict[str, Any]:
    """In memory, as a volume without a name, which goes with its container.

    A mount of a service cannot say whose it is, and gets the mode of the directory in the image.
    """
    mount = {"type": "tmpfs", "device": "tmpfs", "o": f"{options},noexec,nosuid,nodev"}
    made = {"NoCopy": True, "DriverConfig": {"Name": "local", "Options": mount}}
    return {"Type": "volume", "Target": path, "VolumeOptions": made}


def _in_memory(path: str, mebibytes: int, mode: int) -> dict[str, Any]:
    return {"Type": "tmpfs", "Target": path, "TmpfsOptions": {"SizeBytes": mebibytes * MEBIBYTE, "Mode": mode}}


def _secret(spec: ContainerSpec, name: str, secret: str) -> dict[str, Any]:
    """Root's, and readable for the agent's group. `name` is the secret's own, and the file's behind a slash."""
    own, _, file = name.partition("/")
    opened = {"Name": file, "UID": "0", "GID": str(spec.user), "Mode": 0o440}
    return {"SecretID": secret, "SecretName": own, "File": opened}


def _names(spec: ContainerSpec, name_servers: Sequence[str]) -> dict[str, Any]:
    """As `containers.hardening` says for a container."""
    if spec.reach is Reach.GATEWAY:
        return {"DNSConfig": {"Nameservers": [NO_NAMES], "Options": ["timeout:1", "attempts:1"]}}
    return {"DNSConfig": {"Nameservers": list(name_servers)}} if name_servers else {}
