"""Which limits and privileges of a container count as changed, according to Docker."""

from typing import Any

import pytest

from containers.docker.drift import has_changed, other_limits
from containers.errors import AlteredError
from containers.hardening import LIMITS_LABEL, container_payload
from containers.identity import network_name
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy
from tests.containers.test_hardening import SPEC

PAYLOAD = container_payload(SPEC, network="berth-agents", restart_policy="no")
MADE = {"Memory": SPEC.memory, "MemorySwap": SPEC.memory, "NanoCpus": SPEC.nano_cpus, "PidsLimit": SPEC.pids}


def answer(**host: Any) -> dict[str, Any]:
    return {"HostConfig": {**PAYLOAD["HostConfig"], **host}, "NetworkSettings": {"Networks": {"berth-agents": {}}}}


@pytest.mark.parametrize(("field", "value"), [("Memory", 1), ("MemorySwap", 1), ("NanoCpus", 1), ("PidsLimit", 0)])
def test_another_limit_is_put_back_with_all_others(field: str, value: int) -> None:
    assert other_limits(answer(**{field: value}), PAYLOAD["Labels"]) == MADE


@pytest.mark.parametrize(
    "host",
    [{}, {"Memory": 0}, {"MemorySwap": -1}, {"NanoCpus": 0}, {"PidsLimit": None}, {"PidsLimit": SPEC.pids}],
)
def test_a_limit_that_the_kernel_does_not_support_is_no_change(host: dict[str, Any]) -> None:
    assert other_limits(answer(**host), PAYLOAD["Labels"]) == {}


@pytest.mark.parametrize(
    "host",
    [
        {"Privileged": True},
        {"CapAdd": ["NET_ADMIN"]},
        {"SecurityOpt": ["no-new-privileges:true", "seccomp=unconfined"]},
        {"SecurityOpt": []},
        {"ReadonlyRootfs": False},
        {"PidMode": "host"},
        {"Binds": ["/:/host"]},
        {"Mounts": [{"Type": "bind", "Source": "/", "Target": "/host"}]},
        {"Mounts": [{"Type": "volume", "VolumeOptions": {"DriverConfig": {"Options": {"o": "bind", "device": "/"}}}}]},
        {"DeviceRequests": [{"Driver": "nvidia", "Count": -1}]},
        {"VolumesFrom": ["other"]},
        {"PidMode": "container:other"},
        {"IpcMode": "container:other"},
        {"UsernsMode": "host"},
        {"NetworkMode": "container:other"},
        {"SecurityOpt": ["no-new-privileges:true", "apparmor=unconfined"]},
        {"SecurityOpt": ["no-new-privileges:true", "label=disable"]},
    ],
)
def test_more_privileges_are_a_change(host: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("containers.docker.drift.wanted_policy", lambda: "no")
    for made in ({}, {"Mounts": None, "DeviceRequests": None, "UTSMode": None}):
        assert not has_changed(answer(**made), PAYLOAD["Labels"])
    assert has_changed(answer(**host), PAYLOAD["Labels"])


@pytest.mark.parametrize("label", ["", "1 2", "1 2 x", f"{'9' * 5000} 1 1"])
def test_a_container_without_recorded_limits_is_left_alone(label: str) -> None:
    labels = {**PAYLOAD["Labels"], LIMITS_LABEL: label}
    assert other_limits(answer(Memory=1), labels) == {}
    assert other_limits(answer(Memory=1), {**PAYLOAD["Labels"], "berth.quarantined": "now"}) == {}


@pytest.mark.docker
def test_a_container_recreated_with_more_privileges_is_replaced(
    docker_under_test: DockerUnderTest,
) -> None:
    engine, client, name = docker_under_test.engine, docker_under_test.client, docker_under_test.name
    made = deploy(docker_under_test)
    assert not made.has_drifted
    labels = client.inspect_container(name)["Config"]["Labels"]
    client.remove_container(name, force=True)
    host = client.create_host_config(cap_add=["NET_ADMIN"], network_mode=network_name())
    client.create_container(docker_under_test.image, name=name, labels=labels, host_config=host)
    seen = engine.inspect(docker_under_test.key)
    assert seen
    assert seen.has_drifted
    with pytest.raises(AlteredError):
        engine.realign(docker_under_test.key)
    now = deploy(docker_under_test)
    assert (now.is_up, now.has_drifted, now.container_id == seen.container_id) == (True, False, False)
