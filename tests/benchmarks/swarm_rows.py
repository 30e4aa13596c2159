"""The answers of a simulated Swarm manager about a service, its task and a node, as text."""

import json

BEGAN = "2026-01-01T00:00:00Z"


def write_rows(api: str) -> tuple[str, str]:
    """A service and its task as text, with `#key`, `#id` and `#node` in them."""
    from containers.identity import own_labels
    from containers.swarm.tasks.service_spec import service_payload
    from containers.vocabulary import GENERATION_LABEL, PROJECT_LABEL, ContainerSpec

    labels = {**own_labels(), PROJECT_LABEL: "#key", GENERATION_LABEL: "1"}
    spec = ContainerSpec(
        name="agent-#id", image="berth/assistant", labels=labels, generation=1, environment={}, secrets={},
        memory=1 << 28, nano_cpus=1, pids=1, stop_timeout=1,
    )  # fmt: skip
    major, minor = (int(part) for part in api.split("."))
    payload = service_payload(
        spec, image=("berth/assistant", "x"), network="n", secrets={}, api=(major, minor), volume={}
    )
    service = {
        "ID": "#id", "Version": {"Index": 3}, "CreatedAt": BEGAN, "Spec": payload, "PreviousSpec": payload
    }  # fmt: skip
    status = {"State": "running", "Timestamp": BEGAN, "ContainerStatus": {"ContainerID": "c#id", "ExitCode": 0}}
    task = {
        "ID": "t#id", "CreatedAt": BEGAN, "DesiredState": "running", "NodeID": "#node", "ServiceID": "#id",
        "Status": status, "Spec": payload["TaskTemplate"],
    }  # fmt: skip
    return json.dumps(service), json.dumps(task)


def write_node(number: int) -> str:
    resources = {"MemoryBytes": 64 << 30, "NanoCPUs": 16_000_000_000}
    described = {"Hostname": f"node-{number}", "Resources": resources, "Engine": {"EngineVersion": "20.10.24"}}
    status = {"State": "ready", "Addr": f"127.0.1.{number + 1}"}
    spec = {"Availability": "active", "Role": "worker"}
    return json.dumps({"ID": f"node-{number}", "Spec": spec, "Status": status, "Description": described})


def write_note(key: str, ident: str, node: str) -> str:
    """The config object which records that the agent has run on this node."""
    from containers.identity import own_labels
    from containers.swarm.tasks.service_spec import KEPT_ON_LABEL
    from containers.vocabulary import PROJECT_LABEL

    labels = {**own_labels(), PROJECT_LABEL: key, KEPT_ON_LABEL: node}
    return json.dumps({"ID": f"n{ident}", "Spec": {"Name": f"n{ident}", "Labels": labels}})
