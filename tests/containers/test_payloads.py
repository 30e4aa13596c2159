"""No container that Berth creates, of any kind, has anything of its host except volumes."""

from containers.docker.networks import rules_container
from containers.docker.volumes.measuring import measuring_payload
from containers.hardening import container_payload
from containers.volume_containers import carrier_payload, handover_payload, keeper_payload
from tests.containers.engine_fixtures import make_spec
from tests.containers.memory_under_test import MemoryUnderTest


def test_no_container_gets_a_directory_or_a_device_of_the_host() -> None:
    spec = make_spec(MemoryUnderTest())
    made = [
        container_payload(spec, network="n"), handover_payload(spec, 1, volume="v"),
        keeper_payload(image="i", labels={}, state="s", since="t"), carrier_payload("n", image="i", volume="v"),
        measuring_payload("true", [("v", {})], image="i"),
        *(rules_container._payload("true", network=network, image="i") for network in ("host", "bridge")),
    ]  # fmt: skip
    for host in (payload["HostConfig"] for payload in made):
        assert not any(host.get(name) for name in ("Binds", "Devices", "Privileged"))
        assert {mount["Type"] for mount in host.get("Mounts", [])} <= {"volume"}
