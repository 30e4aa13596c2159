"""The one way in which an agent's container is confined. Pure: equal specs give equal payloads.

Two agents differ only in name, labels, environment, volumes and the figures of their plan.
"""

from typing import Any

from containers.agent_contract import AGENT_USER, DATA_PATH, RUN_PATH, SECRETS_PATH
from containers.vocabulary import GENERATION_LABEL, ContainerSpec

MEBIBYTE = 1024 * 1024


def data_volume(name: str) -> str:
    """The volume of the agent's state, which outlives its containers."""
    return f"{name}-data"


def secrets_volume(name: str) -> str:
    """The volume of the agent's credentials, which is made anew for every container."""
    return f"{name}-secrets"


def container_labels(spec: ContainerSpec) -> dict[str, str]:
    return {**spec.labels, GENERATION_LABEL: str(spec.generation)}


def container_payload(spec: ContainerSpec, *, network: str, runtime: str = "") -> dict[str, Any]:
    """The body of POST /containers/create. The health check is the image's own; ports are never published."""
    return {
        "Image": spec.image,
        "User": f"{AGENT_USER}:{AGENT_USER}",
        "Env": [f"{name}={value}" for name, value in sorted(spec.environment.items())],
        "Labels": container_labels(spec),
        "StopSignal": "SIGTERM",
        "StopTimeout": spec.stop_timeout,
        "Tty": False,
        "OpenStdin": False,
        "NetworkDisabled": False,
        "HostConfig": {
            **_confinement(),
            **_limits(spec),
            "Init": True,
            "Mounts": [
                _volume(data_volume(spec.name), DATA_PATH, spec),
                _volume(secrets_volume(spec.name), SECRETS_PATH, spec),
            ],
            "NetworkMode": network,
            "RestartPolicy": {"Name": "unless-stopped", "MaximumRetryCount": 0},
            **({"Runtime": runtime} if runtime else {}),
        },
    }


def _confinement() -> dict[str, Any]:
    """What keeps the agent inside. No seccomp profile is named: that would replace the engine's default one."""
    return {
        "Privileged": False,
        "ReadonlyRootfs": True,
        "CapAdd": [],
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
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
            RUN_PATH: f"rw,noexec,nosuid,nodev,size=1m,mode=0755,uid={AGENT_USER},gid={AGENT_USER}",
        },
    }


def _limits(spec: ContainerSpec) -> dict[str, Any]:
    return {
        "Memory": spec.memory,
        "MemorySwap": spec.memory,  # equal to the memory: no swap
        "NanoCpus": spec.nano_cpus,
        "PidsLimit": spec.pids,
        "OomKillDisable": False,
        "ShmSize": 16 * MEBIBYTE,
        "Ulimits": [
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "nofile", "Soft": 1024, "Hard": 4096},
        ],
        "LogConfig": {
            "Type": "local",
            "Config": {"max-size": "10m", "max-file": "3", "mode": "non-blocking", "max-buffer-size": "1m"},
        },
    }


def _volume(volume: str, path: str, spec: ContainerSpec) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": volume,
        "Target": path,
        "VolumeOptions": {"Labels": container_labels(spec)},
    }
