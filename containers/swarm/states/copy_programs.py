"""The jobs that copy an agent's state on its node: their programs, and the services that run them. Pure.

A copy is an archive in a second volume of the same node. It gets its name only when it is complete, so that what a
killed job leaves behind is never taken for a copy. Each job ends by itself when its time is over, even if the process
that created it was killed meanwhile.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from containers.hardening import MEBIBYTE
from containers.identity import container_name, helper_labels, network_name
from containers.swarm.nodes.nodes import Node
from containers.swarm.services.spec_changes import on_node
from containers.swarm.states.volume_cleanup import ENVIRONMENT
from containers.swarm.tasks.job_containers import COPIES
from containers.swarm.tasks.service_spec import confinement

LABEL, OF_LABEL = COPIES, f"{COPIES}.of"
"""The labels of these jobs and their containers: the instance, and the key of the agent."""

STATE_PATH, COPY_PATH = "/state", "/copy"

NO_COPY, TOO_LARGE, LACKS_PROGRAMS = 3, 4, 6
OUT_OF_TIME = frozenset({124, 143})
"""Exit codes. GNU's `timeout` ends with 124, BusyBox's with 143."""

_MEMORY, _PIDS = 128 * MEBIBYTE, 32

_PROGRAMS = f"""
for each in tar head dd wc mv rm find timeout; do command -v $each >/dev/null || exit {LACKS_PROGRAMS}; done
"""
KEEP = f"""{_PROGRAMS}
rm -f {COPY_PATH}/* || exit 1
trap 'rm -f {COPY_PATH}/*' EXIT
cd {STATE_PATH} || exit 1
pack='{{ tar --numeric-owner -cf - . && : >{COPY_PATH}/read; }} | head -c "$1" |
    dd of={COPY_PATH}/part bs=64k conv=fsync 2>/dev/null'
timeout "$1" sh -c "$pack" pack "$2" || exit
test "$(wc -c <{COPY_PATH}/part)" -lt "$2" || exit {TOO_LARGE}
test -e {COPY_PATH}/read || exit 1
rm {COPY_PATH}/read && mv {COPY_PATH}/part {COPY_PATH}/kept.tar || exit 1
trap - EXIT
"""
"""$1 is the time in seconds, $2 the size in bytes from which on the archive is too large."""

RETURN = f"""{_PROGRAMS}
test -e {COPY_PATH}/kept.tar || exit {NO_COPY}
cd {STATE_PATH} || exit 1
unpack='find . -xdev -mindepth 1 -maxdepth 1 -exec rm -rf {{}} + && tar --numeric-owner -xpf {COPY_PATH}/kept.tar'
timeout "$1" sh -c "$unpack"
"""
DROP = f"rm -f {COPY_PATH}/*"

CAPABILITIES: Mapping[str, Sequence[str]] = {
    KEEP: ["DAC_READ_SEARCH"],
    RETURN: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID"],
    DROP: [],
}
"""What the root of each job may do: find all files, or write all with their owners and modes."""


def job_payload(
    script: str, arguments: Sequence[str], *, key: str, node: Node, image: str, mounts: Sequence[Mapping[str, Any]],
    api: tuple[int, int],
) -> dict[str, Any]:  # fmt: skip
    """Returns the body of POST /services/create. The job is root, because the files belong to the agent's user."""
    labels = {**helper_labels(LABEL), OF_LABEL: key}
    return {
        "Name": f"{container_name(key)}-copies",
        "Labels": labels,
        "Mode": {"GlobalJob": {}},
        "EndpointSpec": {"Mode": "dnsrr"},  # an agents' network has no addresses of services
        "TaskTemplate": {
            "ContainerSpec": {
                **confinement(api),
                "CapabilityAdd": list(CAPABILITIES[script]),
                "Image": image,
                "Labels": labels,
                "Command": ["/bin/sh", "-c", script, "copies", *arguments],
                "Env": list(ENVIRONMENT),
                "User": "0:0",
                "StopGracePeriod": 1_000_000_000,
                "HealthCheck": {"Test": ["NONE"]},
                "Mounts": [dict(mount) for mount in mounts],
            },
            "Resources": {"Limits": {"MemoryBytes": _MEMORY, "Pids": _PIDS}},
            "RestartPolicy": {"Condition": "none"},
            "Placement": {"Constraints": [on_node(node.node_id)]},
            "Networks": [{"Target": network_name()}],
        },
    }
