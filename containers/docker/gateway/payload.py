"""How the gateway's container is made. Pure: equal specs, images and networks give equal payloads."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from containers.agent_contract import DATA_PATH, SECRETS_PATH
from containers.gateway.words import PORT, AgentsNetwork, GatewaySpec
from containers.hardening import NO_TERMINAL, SECCOMP_PROFILE, data_volume, limits, secrets_volume
from containers.identity import exit_network_name, gateway_name, helper_labels

LABEL = "berth.gateway"
"""The label of the gateway's container and volumes; its value is the instance. It is no agent, so that it has none of
their labels."""

MADE_LABEL = "berth.gateway.made"
"""The label that holds a digest of all from which the container was made."""

WAY_LABEL = "berth.gateway.way"
"""The label that holds how agents come to it."""

TURNS_LABEL = "berth.gateway.turns"
"""The label of one that waits until its predecessor has ended, so that it may be started before that."""

USER = 10002
KEY_FILE = "gateway_key"
ALWAYS = "always"
"""An engine that was killed ends what still runs when it is started again, and takes that for a wish of somebody's: it
would leave the gateway down with `unless-stopped` (moby/moby, pull request 53415)."""

STOP_TIMEOUT = 8
_CONNECTIONS_OF_ALL = 8192
_DOOR = f"{PORT}/tcp"


class Way(StrEnum):
    """How agents come to it: by the passage in the rules of their network, or by a port of the engine's host."""

    PASSAGE = "passage"
    PORT = "port"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All from which its container is made. `made` is a digest of it, which says nothing about the key."""

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
    """All that make the same container give it the same name, so that there is one."""
    return f"{gateway_name()}-{made[:12]}"


def gateway_payload(plan: Plan) -> dict[str, Any]:
    """The body of POST /containers/create."""
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
            # No limit of files: an idle poll takes two. It has as many as the engine itself, which may not give more.
            "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
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
    """On the agents' network only, but where the engine's proxy comes from the other one: with one address for all."""
    port = {"GATEWAY_PORT": str(PORT)}
    if plan.way is Way.PASSAGE:
        return {**port, "GATEWAY_HOST": str(plan.network.gateway)}
    return {**port, "GATEWAY_HOST": "0.0.0.0", "GATEWAY_CONNECTIONS": str(_CONNECTIONS_OF_ALL)}  # noqa: S104  # nosec B104 - in a container


def _published(plan: Plan) -> dict[str, Any]:
    """At the address that the host has on the agents' network, and at no other."""
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
            # It stands on two networks. No packet passes from one to the other, no matter what its sender writes on it.
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
