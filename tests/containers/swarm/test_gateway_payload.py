"""The service of a node's gateway, as it is created."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest
from cryptography.fernet import Fernet

from containers.gateway.vocabulary import GatewaySpec
from containers.swarm.gateway.payload import NodePlan, service_payload

pytestmark = pytest.mark.one_database
FILES = {"gateway_key": "CANARY-key", "gateway_control": "CANARY-control", "gateway_authorities": "CANARY-known"}


def plan(**changes: Any) -> NodePlan:
    made = NodePlan(
        spec=GatewaySpec(key=Fernet.generate_key().decode()),
        node="abcdefghijklmnopqrstuvwxy",
        image="berth/gateway:1",
        listens_at=IPv4Address("10.231.0.1"),
        control_port=8443,
        api=(1, 41),
        files=FILES,
    )
    return replace(made, **changes)


def test_the_gateway_runs_on_one_node_and_sees_its_agents_real_addresses() -> None:
    payload = service_payload(plan(), dict.fromkeys(FILES, "id"), made="m")
    task = payload["TaskTemplate"]
    assert payload["Mode"] == {"Global": {}}
    assert task["Placement"]["Constraints"] == ["node.id==abcdefghijklmnopqrstuvwxy"]
    assert task["Networks"] == [{"Target": "host"}]
    assert "EndpointSpec" not in payload, "It publishes no port."
    assert {"GATEWAY_HOST=10.231.0.1", "GATEWAY_CONTROL_PORT=8443"} <= set(task["ContainerSpec"]["Env"])
    assert payload["UpdateConfig"]["Order"] == "stop-first"


def test_the_gateway_is_confined_as_far_as_a_service_allows() -> None:
    container = service_payload(plan(), {})["TaskTemplate"]["ContainerSpec"]
    assert (container["User"], container["ReadOnly"], container["CapabilityDrop"]) == ("10002:10002", True, ["ALL"])
    bound = [mount for mount in container["Mounts"] if mount["Type"] not in {"volume", "tmpfs"}]
    assert bound == [{"Type": "bind", "Source": "/sys/fs/cgroup", "Target": "/run/cgroup", "ReadOnly": True}]
    newer = service_payload(plan(api=(1, 44)), {})["TaskTemplate"]["ContainerSpec"]
    assert newer["Privileges"]["NoNewPrivileges"]


def test_its_files_are_secrets_that_only_the_gateway_can_read() -> None:
    made = plan()
    payload = service_payload(made, dict.fromkeys(FILES, "id"), made=made.made)
    assert "CANARY" not in str(payload)
    assert "CANARY" not in repr(made)
    secrets = payload["TaskTemplate"]["ContainerSpec"]["Secrets"]
    assert [secret["File"]["Name"] for secret in secrets] == sorted(FILES)
    assert {(secret["File"]["UID"], secret["File"]["Mode"]) for secret in secrets} == {("10002", 0o400)}
    assert all(len(made.secret_name(file)) <= 64 for file in FILES)


@pytest.mark.parametrize("change", ["node", "file", "image", "api"])
def test_every_change_creates_another_service(change: str) -> None:
    changes: dict[str, Any] = {
        "node": {"node": "z" * 25},
        "file": {"files": {**FILES, "gateway_control": "renewed"}},
        "image": {"image": "berth/gateway:2"},
        "api": {"api": (1, 44)},
    }
    first = plan()
    assert replace(first).made == first.made
    assert replace(first, **changes[change]).made != first.made
    other = replace(first, **changes["file"])
    assert other.secret_name("gateway_control") != first.secret_name("gateway_control")
    assert other.secret_name("gateway_key") == first.secret_name("gateway_key")
