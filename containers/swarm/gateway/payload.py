"""Builds the service of one node's gateway. Pure: equal specs, nodes and images give equal payloads.

Each node has a service of its own that runs only there, because all tasks of a service share its secrets and each node
needs its own certificate. The service uses the host's network. So it listens at the address of the agents' bridge,
which is the same on each node, and sees which agent sends a request.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from containers.agent_contract import DATA_PATH
from containers.gateway.vocabulary import MEBIBYTE, PORT, GatewaySpec
from containers.hardening import NO_CORE, data_volume
from containers.identity import gateway_name, helper_labels
from containers.swarm.tasks.service_spec import confinement, own_directory

LABEL = "berth.gateway"
"""The label of the service, its volume and its secrets; its value is the instance."""

MADE_LABEL = "berth.gateway.made"
"""The label that holds a digest of the plan from which the service was created."""

ANSWERED_LABEL = "berth.gateway.answered"
"""The label that says whether the former gateway answered when this one replaced it."""

NODE_LABEL = "berth.gateway.node"
"""The label that holds the id of the gateway's node."""

GROUPS, GROUPS_OF_NODE = "/run/cgroup", "/sys/fs/cgroup"
"""Where the gateway reads the control groups of its node, which say what each agent uses, and where the node has them.
Everybody on the node may read them."""

CONTROL_PORT = "GATEWAY_CONTROL_PORT"
"""The variable that holds the port of the node at which the gateway listens for Berth."""

ANSWERED, NEVER = "yes", "no"

HOST = "host"
"""The network of the engine's host."""

USER = 10002
STOP_TIMEOUT = 8
GRACE = 120
"""Seconds for which an agent with an unknown credential is asked to retry. An agent that has moved to this node waits
until its entry on the former node is known to be void."""

_SECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """All inputs of the service. `files` holds the contents of its secrets by file name."""

    spec: GatewaySpec
    node: str
    image: str
    listens_at: IPv4Address
    control_port: int
    api: tuple[int, int]
    files: Mapping[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        return f"{gateway_name()}-{self.node[:12]}"

    @property
    def made(self) -> str:
        """Returns a digest of the plan, which reveals nothing about the files."""
        payload = json.dumps([service_payload(self, {}), sorted(self.files.items())])
        return hmac.new(self.spec.key.encode(), payload.encode(), hashlib.sha256).hexdigest()

    def secret_name(self, file: str) -> str:
        """Equal contents have equal names, so that a process finds secrets that another one has created."""
        what = json.dumps([self.node, file, self.files[file]])
        return f"{gateway_name()}-{hmac.new(self.spec.key.encode(), what.encode(), hashlib.sha256).hexdigest()[:20]}"


def service_payload(
    plan: NodePlan, secrets: Mapping[str, str], *, made: str = "", answered: str = NEVER
) -> dict[str, Any]:
    """Returns the body of POST /services/create. `secrets` holds the ids of the Swarm's secrets by file name."""
    labels = {**helper_labels(LABEL), NODE_LABEL: plan.node}
    return {
        "Name": plan.name,
        "Labels": {**labels, MADE_LABEL: made, ANSWERED_LABEL: answered},
        "Mode": {"Global": {}},
        # The former task holds the port until it stops.
        "UpdateConfig": {"Parallelism": 1, "Order": "stop-first", "FailureAction": "pause"},
        "TaskTemplate": {
            "ContainerSpec": {**_container(plan, labels), "Secrets": _secrets(plan, secrets)},
            "Resources": {
                "Limits": {
                    "MemoryBytes": plan.spec.memory, "NanoCPUs": plan.spec.nano_cpus, "Pids": plan.spec.pids
                }
            },
            "RestartPolicy": {"Condition": "any", "Delay": _SECONDS, "MaxAttempts": 0},
            "Placement": {"Constraints": [f"node.id=={plan.node}"]},
            "Networks": [{"Target": HOST}],
            "LogDriver": {"Name": "local", "Options": {"max-size": "10m", "max-file": "3"}},
        },
    }  # fmt: skip


def _container(plan: NodePlan, labels: Mapping[str, str]) -> dict[str, Any]:
    environment = {
        **dict(plan.spec.environment),
        "GATEWAY_HOST": str(plan.listens_at),
        "GATEWAY_PORT": str(PORT),
        CONTROL_PORT: str(plan.control_port),
        "GATEWAY_GRACE": str(GRACE),
        "GATEWAY_CGROUPS": GROUPS,
    }
    return {
        "Image": plan.image,
        "Labels": dict(labels),
        "Env": [f"{name}={value}" for name, value in sorted(environment.items())],
        "User": f"{USER}:{USER}",
        "StopSignal": "SIGTERM",
        "StopGracePeriod": STOP_TIMEOUT * _SECONDS,
        "HealthCheck": {"Test": ["NONE"]},
        **confinement(plan.api),
        # No limit on open files: each idle poll takes two.
        "Ulimits": [{"Name": "core", "Soft": NO_CORE, "Hard": NO_CORE}],
        "Mounts": _mounts(),
    }


def _mounts() -> list[dict[str, Any]]:
    return [
        {
            "Type": "volume",
            "Source": data_volume(gateway_name()),
            "Target": DATA_PATH,
            "VolumeOptions": {"Labels": helper_labels(LABEL)},
        },
        _in_memory("/tmp", 64),  # noqa: S108  # nosec B108 - a mount inside the container
        {"Type": "bind", "Source": GROUPS_OF_NODE, "Target": GROUPS, "ReadOnly": True},
        own_directory("/run/gateway", f"size=1m,mode=0700,uid={USER},gid={USER}"),
    ]


def _in_memory(target: str, mebibytes: int) -> dict[str, Any]:
    options = {"SizeBytes": mebibytes * MEBIBYTE, "Mode": 0o1777}
    return {"Type": "tmpfs", "Target": target, "TmpfsOptions": options}


def _secrets(plan: NodePlan, ids: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "SecretID": secret,
            "SecretName": plan.secret_name(file),
            "File": {"Name": file, "UID": str(USER), "GID": str(USER), "Mode": 0o400},
        }
        for file, secret in sorted(ids.items())
    ]
