"""The one way in which an agent's container is confined. Pure: equal specs give equal payloads.

Two agents differ only in name, labels, environment, volumes, user and the figures of their plan.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from containers.agent_contract import DATA_PATH, RUN_PATH, SECRETS_PATH
from containers.gateway.words import ADDRESS_LABEL, GatewaySpec, Reach
from containers.vocabulary import GENERATION_LABEL, USER_LABEL, ContainerSpec

MEBIBYTE = 1024 * 1024

SECCOMP_FILE = Path(__file__).with_name("seccomp.json")
"""The system calls that an agent may make, in the format of Docker: seccomp(2), and the kernel's and runc's own lists.

A list of what is allowed. All else is refused: other namespaces, mounts, modules, keys, tracing, BPF, handles of files,
fanotify and userfaultfd; sockets of any family but AF_UNIX, AF_INET, AF_INET6 and routing (netfilter does not see
AF_VSOCK); sync and syncfs, which wait for the disk of all; and every call of another architecture than the engine's,
such as 32-bit ones, which could say all of that in other words.
"""

SECCOMP_PROFILE = json.dumps(json.loads(SECCOMP_FILE.read_text()), separators=(",", ":"))

ULIMITS = (
    ("core", 0, 0),
    ("memlock", 64 * 1024, 64 * 1024),
    ("msgqueue", 819_200, 819_200),
    ("nofile", 1024, 4096),
    ("sigpending", 1024, 1024),
)
"""Name, soft and hard limit (setrlimit(2)): bytes of locked memory and of message queues, files, signals and timers.

Those of memory and queues are the kernel's own (64 KiB before 5.16), which an engine's service may have raised for all.
"""

DATA, SECRETS = "-data", "-secrets"
"""How the names of volumes end."""

COPY = "-former"
"""How the name of the copy of a state ends, with which an image before an update goes on."""

NO_NAMES = "127.0.0.1"

LIMITS_LABEL = "berth.limits"
"""The label that holds with how much memory, processor and how many processes a container was made."""

NO_PRIVILEGES_ANEW = "no-new-privileges:true"

NO_TERMINAL = {"Tty": False, "OpenStdin": False}

BY_ENGINE = "unless-stopped"
NEVER_BY_ENGINE = "no"
"""Who starts agents again: the engine, also when it is started itself, or Berth, once the firewall rules are set."""


def data_volume(name: str) -> str:
    """The volume of the agent's state, which outlives its containers."""
    return f"{name}{DATA}"


def secrets_volume(name: str) -> str:
    """The volume of the agent's credentials, which is made anew for every container."""
    return f"{name}{SECRETS}"


def container_labels(spec: ContainerSpec) -> dict[str, str]:
    address = {ADDRESS_LABEL: spec.address} if spec.address else {}
    return {**spec.labels, GENERATION_LABEL: str(spec.generation), USER_LABEL: str(spec.user), **address}


def container_payload(
    spec: ContainerSpec,
    *,
    network: str,
    runtime: str = "",
    state: str = "",
    restart_policy: str = BY_ENGINE,
    name_servers: Sequence[str] = (),
    quota: int | None = 0,
) -> dict[str, Any]:
    """The body of POST /containers/create. The health check is the image's own; ports are never published.

    `state` is the volume of the agent's state where it has another name than the container. `name_servers` are those
    that the engine's resolver asks for the agent, in place of its host's. `quota` is how many bytes the volume of its
    state may hold, where the engine makes it. None: there is one, which the engine leaves as it is. Otherwise it would
    fill one that is empty from the image again, and give it to the image's user.
    """
    return {
        "Image": spec.image,
        "User": f"{spec.user}:{spec.user}",
        "Env": [f"{name}={value}" for name, value in sorted(spec.environment.items())],
        "Labels": {**container_labels(spec), LIMITS_LABEL: f"{spec.memory} {spec.nano_cpus} {spec.pids}"},
        "StopSignal": "SIGTERM",
        "StopTimeout": spec.stop_timeout,
        **NO_TERMINAL,
        "NetworkDisabled": False,
        "HostConfig": {
            **confinement(spec.user),
            **limits(spec),
            "Init": True,
            "Mounts": _mounts(spec, state=state, quota=quota),
            "NetworkMode": network,
            "RestartPolicy": {"Name": restart_policy, "MaximumRetryCount": 0},
            **_names(spec, name_servers) | ({"Runtime": runtime} if runtime else {}),
        },
        **_endpoint(spec, network),
    }


def _names(spec: ContainerSpec, name_servers: Sequence[str]) -> dict[str, Any]:
    """Who is asked for names. For an agent that reaches the gateway alone it is one inside it, where nobody answers.

    The engine's resolver asks that one from there, and not past the rules as it does with others. It may say nothing
    at all then, so that programs are not to wait for long.
    """
    if spec.reach is Reach.GATEWAY:
        return {"Dns": [NO_NAMES], "DnsOptions": ["timeout:1", "attempts:1"]}
    return {"Dns": list(name_servers)} if name_servers else {}


def _endpoint(spec: ContainerSpec, network: str) -> dict[str, Any]:
    """Its own address, which the engine gives to nobody else while the container runs."""
    if spec.address is None:
        return {}
    return {"NetworkingConfig": {"EndpointsConfig": {network: {"IPAMConfig": {"IPv4Address": spec.address}}}}}


def confinement(user: int) -> dict[str, Any]:
    """What keeps the agent inside. An engine without seccomp refuses the container, and does not make it without."""
    return {
        "Privileged": False,
        "ReadonlyRootfs": True,
        "CapAdd": [],
        "CapDrop": ["ALL"],
        "SecurityOpt": [NO_PRIVILEGES_ANEW, f"seccomp={SECCOMP_PROFILE}"],
        "IpcMode": "private",
        "PidMode": "",
        "UTSMode": "",
        "UsernsMode": "",
        "Devices": [],
        "Binds": [],
        "PortBindings": {},
        "PublishAllPorts": False,
        "Tmpfs": {
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


def _mounts(spec: ContainerSpec, *, state: str, quota: int | None) -> list[dict[str, Any]]:
    made = {"NoCopy": True} if quota is None else sized(quota)
    return [
        _volume(state or data_volume(spec.name), DATA_PATH, spec, **made),
        # Nothing of the image's: the directory is the engine's own, root's, and no agent can write there.
        _volume(secrets_volume(spec.name), SECRETS_PATH, spec, NoCopy=True),
    ]


def sized(quota: int) -> dict[str, Any]:
    return {"DriverConfig": {"Name": "local", "Options": {"size": str(quota)}}} if quota else {}


def _volume(volume: str, path: str, spec: ContainerSpec, **options: Any) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": volume,
        "Target": path,
        "VolumeOptions": {"Labels": container_labels(spec), **options},
    }
