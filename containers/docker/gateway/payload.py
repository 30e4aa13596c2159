"""Defines the gateway's container. The functions are pure: equal specs, images and networks give equal payloads."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from containers.agent_contract import DATA_PATH, SECRETS_PATH
from containers.gateway.vocabulary import PORT, AgentsNetwork, GatewaySpec
from containers.hardening import NO_CORE, NO_TERMINAL, SECCOMP_PROFILE, data_volume, limits, secrets_volume
from containers.identity import exit_network_name, gateway_name, helper_labels

LABEL = "berth.gateway"
"""The label of the gateway's container and volumes; its value is the instance. The gateway has no labels of agents."""

MADE_LABEL = "berth.gateway.made"
"""The label with a digest of everything that defines the container."""

WAY_LABEL = "berth.gateway.way"
"""The label with the way by which agents reach the gateway."""

TURNS_LABEL = "berth.gateway.turns"
"""The label of a gateway that waits until its predecessor has ended, and may therefore be started before that."""

USER = 10002
KEY_FILE = "gateway_key"
ALWAYS = "always"
"""A killed engine ends the containers that still run when it starts again, and treats that as if a user had stopped
them: with `unless-stopped` it would leave the gateway down (moby/moby, pull request 53415)."""

STOP_TIMEOUT = 8
CPU_SHARES = 4096
"""Four times the weight of an agent (the kernel's default), so that busy agents cannot starve the gateway, which all of
them need. It counts only while the processors are busy."""

_CONNECTIONS_OF_ALL = 8192
_DOOR = f"{PORT}/tcp"


class Way(StrEnum):
    """How agents reach the gateway: through the passage in their network's rules, or by a port of the engine's host."""

    PASSAGE = "passage"
    PORT = "port"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that defines the gateway's container. `made` is a digest of it that reveals nothing about the key."""

    spec: GatewaySpec
    image_id: str
    network: AgentsNetwork
    way: Way
    name_servers: tuple[str, ...]
    made: str = ""


def make_plan(
    spec: GatewaySpec, *, image_id: str, network: AgentsNetwork, way: Way, name_servers: Sequence[str]
) -> Plan:
    plan = Plan(spec=spec, image_id=image_id, network=network, way=way, name_servers=tuple(name_servers))
    made = hmac.new(spec.key.encode(), json.dumps(gateway_payload(plan)).encode(), hashlib.sha256)
    return replace(plan, made=made.hexdigest())


def container_name_for(made: str) -> str:
    """Returns the container's name. Equal plans have the same name, so that only one container is created."""
    return f"{gateway_name()}-{made[:12]}"


def gateway_payload(plan: Plan) -> dict[str, Any]:
    """Returns the body of POST /containers/create."""
    spec = plan.spec
    return {
        "Image": plan.image_id,
        "User": f"{USER}:{USER}",
        "Env": [f"{name}={value}" for name, value in sorted({**dict(spec.environment), **_listening(plan)}.items())],
        "Labels": {**helper_labels(LABEL), MADE_LABEL: plan.made, WAY_LABEL: plan.way.value, TURNS_LABEL: "1"},
        "StopSignal": "SIGTERM",
        "StopTimeout": STOP_TIMEOUT,
        **NO_TERMINAL,
        "ExposedPorts": {_DOOR: {}},
        "HostConfig": {
            **_confinement(),
            **limits(spec),
            "CpuShares": CPU_SHARES,
            # No limit of open files, because an idle poll takes two: it gets as many as the engine, the maximum.
            "Ulimits": [{"Name": "core", "Soft": NO_CORE, "Hard": NO_CORE}],
            "Init": True,
            "Mounts": [
                _volume(data_volume(gateway_name()), DATA_PATH),
                _volume(secrets_volume(container_name_for(plan.made)), SECRETS_PATH, NoCopy=True),
            ],
            "NetworkMode": exit_network_name(),
            "PortBindings": _published(plan),
            "RestartPolicy": {"Name": ALWAYS, "MaximumRetryCount": 0},
            **({"Dns": list(plan.name_servers)} if plan.name_servers else {}),
        },
    }


def _listening(plan: Plan) -> dict[str, str]:
    """Returns where the gateway listens: on the agents' network only, or everywhere if agents use the host's port.

    In the second case the engine's proxy connects from the other network, and with one address for all agents.
    """
    port = {"GATEWAY_PORT": str(PORT)}
    if plan.way is Way.PASSAGE:
        return {**port, "GATEWAY_HOST": str(plan.network.gateway)}
    return {**port, "GATEWAY_HOST": "0.0.0.0", "GATEWAY_CONNECTIONS": str(_CONNECTIONS_OF_ALL)}  # noqa: S104  # nosec B104 - in a container


def _published(plan: Plan) -> dict[str, Any]:
    """Returns the published port: only at the host's address on the agents' network."""
    return {_DOOR: [{"HostIp": str(plan.network.host), "HostPort": str(PORT)}]} if plan.way is Way.PORT else {}


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
        "PublishAllPorts": False,
        "Sysctls": {
            # It is on two networks. No packet passes from one to the other, not even with source routing.
            "net.ipv4.ip_forward": "0",
            "net.ipv4.conf.all.accept_source_route": "0",
            "net.core.somaxconn": "4096",
        },
        "Tmpfs": {
            "/tmp": "rw,noexec,nosuid,nodev,size=64m,mode=1777",  # noqa: S108 - a mount inside the container
            "/run/gateway": f"rw,noexec,nosuid,nodev,size=1m,mode=0700,uid={USER},gid={USER}",
        },
    }


def _volume(volume: str, path: str, **options: Any) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": volume,
        "Target": path,
        "VolumeOptions": {"Labels": helper_labels(LABEL), **options},
    }
