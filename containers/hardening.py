"""Defines how every agent's container is confined. The functions are pure: equal specs give equal payloads.

Two agents differ only in name, labels, environment, volumes, user and the limits of their plan.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from containers.agent_contract import DATA_PATH, RUN_PATH, SECRETS_PATH
from containers.credential_digest import DIGEST_LABEL
from containers.gateway.vocabulary import ADDRESS_LABEL, GatewaySpec, Reach
from containers.vocabulary import GENERATION_LABEL, USER_LABEL, ContainerSpec

MEBIBYTE = 1024 * 1024

SECCOMP_FILE = Path(__file__).with_name("seccomp.json")
"""The system calls that an agent may make, in Docker's seccomp format.

It is an allow list. All other calls are refused: namespaces, mounts, modules, keys, tracing, BPF, file handles,
fanotify and userfaultfd; sockets of any family except AF_UNIX, AF_INET, AF_INET6 and routing (netfilter does not see
AF_VSOCK); sync and syncfs, which wait for the disk that all agents share; a new limit of core dumps; and calls of any
architecture except the engine's, such as 32-bit calls, which could bypass the list.
"""

SECCOMP_PROFILE = json.dumps(json.loads(SECCOMP_FILE.read_text()), separators=(",", ":"))

NO_CORE = 1
"""The limit of core dumps for which the kernel also starts no program of the host (fs/coredump.c). At 0 it would start
one for each crash of a process (apport, systemd-coredump), outside of all limits. The profile forbids another limit."""

ULIMITS = (
    ("core", NO_CORE, NO_CORE),
    ("memlock", 64 * 1024, 64 * 1024),
    ("msgqueue", 819_200, 819_200),
    ("nofile", 1024, 4096),
    ("sigpending", 1024, 1024),
)
"""Name, soft and hard limit (setrlimit(2)): bytes of locked memory and of message queues (the kernel's defaults, 64 KiB
before Linux 5.16, which the engine may have raised for all), files, signals and timers."""

DATA, SECRETS = "-data", "-secrets"
"""Suffixes of the names of volumes."""

COPY = "-former"
"""The suffix of the name of a state's copy, which an agent gets back if an update is reverted."""

NO_NAMES = "127.0.0.1"

LIMITS_LABEL = "berth.limits"
"""The label with the limits of memory, processor and processes with which a container was created."""

NO_NEW_PRIVILEGES = "no-new-privileges:true"

NO_TERMINAL = {"Tty": False, "OpenStdin": False}

BY_ENGINE = "unless-stopped"
NEVER_BY_ENGINE = "no"
"""Who restarts agents: the engine, also after its own start, or Berth, once the firewall rules are set."""


def data_volume(name: str) -> str:
    """Returns the name of the volume of the agent's state, which outlives its containers."""
    return f"{name}{DATA}"


def secrets_volume(name: str) -> str:
    """Returns the name of the volume of the agent's credentials, which is created again if these changed."""
    return f"{name}{SECRETS}"


def container_labels(spec: ContainerSpec) -> dict[str, str]:
    address = {ADDRESS_LABEL: spec.address} if spec.address else {}
    return {**spec.labels, GENERATION_LABEL: str(spec.generation), USER_LABEL: str(spec.user), **address}


def container_payload(  # noqa: PLR0913 - optional keywords
    spec: ContainerSpec,
    *,
    network: str,
    runtime: str = "",
    state: str = "",
    restart_policy: str = BY_ENGINE,
    name_servers: Sequence[str] = (),
    quota: int | None = 0,
    places: Sequence[str] = (),
    digest: str = "",
) -> dict[str, Any]:
    """Returns the body of POST /containers/create. The health check is the image's own; no ports are published.

    `state` is the volume of the agent's state if its name does not follow from the container's. The engine's resolver
    asks `name_servers` instead of the host's. `quota` limits a new volume of its state in bytes; None leaves one that
    exists as it is, even if it is empty. At `places` the image declares volumes, which the engine would not limit. A
    new volume of the credentials gets their `digest`.
    """
    return {
        **_program(spec),
        "Labels": {**container_labels(spec), LIMITS_LABEL: f"{spec.memory} {spec.nano_cpus} {spec.pids}"},
        "StopSignal": "SIGTERM",
        "StopTimeout": spec.stop_timeout,
        **NO_TERMINAL,
        "NetworkDisabled": False,
        "HostConfig": {
            **confinement(spec.user, places=places),
            **limits(spec),
            "Init": True,
            "Mounts": _mounts(spec, state=state, quota=quota, digest=digest),
            "NetworkMode": network,
            "RestartPolicy": {"Name": restart_policy, "MaximumRetryCount": 0},
            **_names(spec, name_servers) | ({"Runtime": runtime} if runtime else {}),
        },
    } | _endpoint(spec, network)


def _program(spec: ContainerSpec) -> dict[str, Any]:
    environment = [f"{name}={value}" for name, value in sorted(spec.environment.items())]
    return {"Image": spec.image, "User": f"{spec.user}:{spec.user}", "Env": environment}


def _names(spec: ContainerSpec, name_servers: Sequence[str]) -> dict[str, Any]:
    """Returns the settings of name resolution.

    An agent that may reach only the gateway gets a name server address inside its own container, where nothing answers:
    the engine's resolver asks that address from within the container, while it asks others past the firewall rules.
    Programs may then get no answer at all, so that the timeout is short.
    """
    if spec.reach is Reach.GATEWAY:
        return {"Dns": [NO_NAMES], "DnsOptions": ["timeout:1", "attempts:1"]}
    return {"Dns": list(name_servers)} if name_servers else {}


def _endpoint(spec: ContainerSpec, network: str) -> dict[str, Any]:
    """Returns the setting of its fixed address, which the engine gives to no other container while this one runs."""
    if spec.address is None:
        return {}
    return {"NetworkingConfig": {"EndpointsConfig": {network: {"IPAMConfig": {"IPv4Address": spec.address}}}}}


def confinement(user: int, *, places: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the settings that confine the agent. An engine without seccomp refuses to create the container.

    At `places` it gets memory of its own, which counts as its memory and is lost at its end.
    """
    own = f"rw,noexec,nosuid,nodev,size=64m,mode=0700,uid={user},gid={user}"
    return {
        "Privileged": False,
        "ReadonlyRootfs": True,
        "CapAdd": [],
        "CapDrop": ["ALL"],
        "SecurityOpt": [NO_NEW_PRIVILEGES, f"seccomp={SECCOMP_PROFILE}"],
        "IpcMode": "private",
        "PidMode": "",
        "UTSMode": "",
        "UsernsMode": "",
        "Devices": [],
        "Binds": [],
        "PortBindings": {},
        "PublishAllPorts": False,
        "Tmpfs": {
            **dict.fromkeys(places, own),
            "/tmp": "rw,noexec,nosuid,nodev,size=64m,mode=1777",  # noqa: S108 - a mount inside the container
            RUN_PATH: f"rw,noexec,nosuid,nodev,size=1m,mode=0755,uid={user},gid={user}",
        },
    }


def limits(spec: ContainerSpec | GatewaySpec) -> dict[str, Any]:
    return {
        "Memory": spec.memory,
        "MemorySwap": spec.memory,  # equal to the memory: no swap
        "NanoCpus": spec.nano_cpus,
        "PidsLimit": spec.pids,
        "OomKillDisable": False,
        "ShmSize": 16 * MEBIBYTE,
        "Ulimits": [{"Name": name, "Soft": soft, "Hard": hard} for name, soft, hard in ULIMITS],
        "LogConfig": {
            "Type": "local",
            "Config": {"max-size": "10m", "max-file": "3", "mode": "non-blocking", "max-buffer-size": "1m"},
        },
    }


def _mounts(spec: ContainerSpec, *, state: str, quota: int | None, digest: str) -> list[dict[str, Any]]:
    made = {"NoCopy": True} if quota is None else sized(quota)
    return [
        _volume(state or data_volume(spec.name), DATA_PATH, spec, {}, **made),
        # Nothing is copied from the image: the directory belongs to root, and no agent can write there.
        _volume(secrets_volume(spec.name), SECRETS_PATH, spec, {DIGEST_LABEL: digest} if digest else {}, NoCopy=True),
    ]


def sized(quota: int) -> dict[str, Any]:
    return {"DriverConfig": {"Name": "local", "Options": {"size": str(quota)}}} if quota else {}


def _volume(volume: str, path: str, spec: ContainerSpec, more: dict[str, str], **options: Any) -> dict[str, Any]:
    options = {"Labels": container_labels(spec) | more, **options}
    return {"Type": "volume", "Source": volume, "Target": path, "VolumeOptions": options}
