"""How the gateway's container is made. Pure: equal specs, images and networks give equal payloads."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any

from containers.agent_contract import DATA_PATH, SECRETS_PATH
from containers.gateway.words import PORT, AgentsNetwork, GatewaySpec
from containers.hardening import BY_ENGINE, MEBIBYTE, NO_TERMINAL, SECCOMP_PROFILE, data_volume, secrets_volume
from containers.identity import exit_network_name, gateway_name, helper_labels

LABEL = "berth.gateway"
"""The label of the gateway's container and volumes; its value is the instance. It is no agent, so that it has none of
their labels."""

MADE_LABEL = "berth.gateway.made"
"""The label that holds a digest of all from which the container was made."""

USER = 10002
KEY_FILE = "gateway_key"
STOP_TIMEOUT = 8


def identify_making(spec: GatewaySpec, *, image_id: str, network: AgentsNetwork, name_servers: Sequence[str]) -> str:
    """A digest that is another one where the container has to be another one. It says nothing about the key."""
    payload = json.dumps(gateway_payload(spec, image_id=image_id, network=network, made="", name_servers=name_servers))
    return hmac.new(spec.key.encode(), payload.encode(), hashlib.sha256).hexdigest()


def container_name_for(made: str) -> str:
    """Whoever makes the same container gives it the same name, so that there is one."""
    return f"{gateway_name()}-{made[:12]}"


def gateway_payload(
    spec: GatewaySpec, *, image_id: str, network: AgentsNetwork, made: str, name_servers: Sequence[str]
) -> dict[str, Any]:
    """The body of POST /containers/create. It listens on the agents' network only."""
    own = {"GATEWAY_HOST": str(network.gateway), "GATEWAY_PORT": str(PORT)}
    return {
        "Image": image_id,
        "User": f"{USER}:{USER}",
        "Env": [f"{name}={value}" for name, value in sorted({**dict(spec.environment), **own}.items())],
        "Labels": {**helper_labels(LABEL), MADE_LABEL: made},
        "StopSignal": "SIGTERM",
        "StopTimeout": STOP_TIMEOUT,
        **NO_TERMINAL,
        "HostConfig": {
            **_confinement(),
            **_limits(spec),
            "Init": True,
            "Mounts": [
                _volume(data_volume(gateway_name()), DATA_PATH),
                _volume(secrets_volume(container_name_for(made)), SECRETS_PATH, NoCopy=True),
            ],
            "NetworkMode": exit_network_name(),
            "RestartPolicy": {"Name": BY_ENGINE, "MaximumRetryCount": 0},
            **({"Dns": list(name_servers)} if name_servers else {}),
        },
    }


def _confinement() -> dict[str, Any]:
    return {
        "Privileged": False,
        "ReadonlyRootfs": True,
        "CapAdd": [],
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true", f"seccomp={SECCOMP_PROFILE}"],
        "IpcMode": "private",
        "Devices": [],
        "Binds": [],
        "PortBindings": {},
        "PublishAllPorts": False,
        "Sysctls": {
            # It stands on two networks. No packet passes from one to the other, whatever its sender writes on it.
            "net.ipv4.ip_forward": "0",
            "net.ipv4.conf.all.accept_source_route": "0",
            "net.core.somaxconn": "4096",
        },
        "Tmpfs": {
            "/tmp": "rw,noexec,nosuid,nodev,size=64m,mode=1777",  # noqa: S108 - a mount inside the container
            "/run/gateway": f"rw,noexec,nosuid,nodev,size=1m,mode=0700,uid={USER},gid={USER}",
        },
    }


def _limits(spec: GatewaySpec) -> dict[str, Any]:
    return {
        "Memory": spec.memory,
        "MemorySwap": spec.memory,  # equal to the memory: no swap
        "NanoCpus": spec.nano_cpus,
        "PidsLimit": spec.pids,
        "OomKillDisable": False,
        "ShmSize": 16 * MEBIBYTE,
        # No limit of files: an idle poll takes two. It has as many as the engine itself, which may not give more.
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "LogConfig": {
            "Type": "local",
            "Config": {"max-size": "10m", "max-file": "3", "mode": "non-blocking", "max-buffer-size": "1m"},
        },
    }


def _volume(volume: str, path: str, **options: Any) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": volume,
        "Target": path,
        "VolumeOptions": {"Labels": helper_labels(LABEL), **options},
    }
