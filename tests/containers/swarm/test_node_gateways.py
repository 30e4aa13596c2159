"""Each node of a Swarm gets a gateway. A new image reaches one node after the other."""

from ipaddress import IPv4Address
from typing import Any

import pytest
from cryptography.fernet import Fernet

from containers.docker_api.client import Connection
from containers.errors import EngineUnavailableError, ImageNotPulledError
from containers.gateway.protocol import GatewayClient
from containers.gateway.vocabulary import GatewaySpec
from containers.swarm.gateway.image_availability import NOT_PUSHED, ImageAvailability, find_image
from containers.swarm.gateway.node_gateways import NodeGateways
from containers.swarm.gateway.payload import NODE_LABEL
from containers.swarm.images.pulls import job_name
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_pulls import task
from tests.fakes.messages import Answer

pytestmark = pytest.mark.one_database
DIGEST = "r:5/berth/gateway@sha256:" + "b" * 64
SPEC = GatewaySpec(key=Fernet.generate_key().decode())


def node(number: int) -> dict[str, Any]:
    return {
        "ID": f"n{number}",
        "Spec": {"Availability": "active", "Role": "worker"},
        "Status": {"State": "ready", "Addr": f"10.0.0.{number}"},
        "Description": {"Hostname": f"host{number}"},
    }


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Any:
    with manager(monkeypatch) as found:
        found.rows["nodes"] = [node(1), node(2)]
        yield found


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The addresses of the nodes whose gateways do not answer."""
    found: set[str] = set()

    def is_ready(client: GatewayClient) -> bool:
        if client._transport._address[0] in found:  # type: ignore[attr-defined]  # that of the nodes' transport
            raise EngineUnavailableError("silent")
        return True

    monkeypatch.setattr(GatewayClient, "is_ready", is_ready)
    return found


def ensure(gateways: NodeGateways, image: str = "one") -> str:
    wanted = ImageAvailability(name=image)
    return gateways.ensure(SPEC, image=wanted, listens_at=IPv4Address("10.231.0.1")).warning


def images(swarm: Manager) -> dict[str, str]:
    """The images of the gateways, by node."""
    specs = [row["Spec"] for row in swarm.rows["services"]]
    return {each["Labels"][NODE_LABEL]: each["TaskTemplate"]["ContainerSpec"]["Image"] for each in specs}


def test_each_node_gets_a_gateway_with_a_separate_certificate(swarm: Manager) -> None:
    gateways = NodeGateways(Connection())
    assert (ensure(gateways), ensure(gateways)) == ("", "")
    assert images(swarm) == {"n1": "one", "n2": "one"}
    names = [row["Spec"]["Name"] for row in swarm.rows["secrets"]]
    assert len(names) == len(set(names)) == 6


def test_a_joining_node_gets_a_gateway_and_a_removed_node_s_is_deleted(swarm: Manager) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    swarm.rows["nodes"] = [node(2), node(3)]
    ensure(gateways)
    assert images(swarm).keys() == {"n2", "n3"}
    assert {row["Spec"]["Labels"][NODE_LABEL] for row in swarm.rows["secrets"]} == {"n2", "n3"}


def test_a_new_image_is_rolled_out_node_by_node(swarm: Manager, silent: set[str]) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    assert ensure(gateways, "two") == ""
    assert images(swarm) == {"n1": "two", "n2": "one"}
    silent.add("10.0.0.1")
    assert "The gateway of host1 does not answer." in ensure(gateways, "two")
    assert images(swarm) == {"n1": "two", "n2": "one"}
    silent.clear()
    ensure(gateways, "two")
    assert images(swarm) == {"n1": "two", "n2": "two"}


def test_an_unreachable_node_blocks_no_other_update_and_comes_last(swarm: Manager, silent: set[str]) -> None:
    """For example because a firewall has been set up, or because it was between two images."""
    swarm.rows["nodes"] = [node(1), node(2), node(3)]
    gateways = NodeGateways(Connection())
    ensure(gateways)
    silent.add("10.0.0.1")
    for image in ("two", "three"):
        assert [ensure(gateways, image) for _ in range(4)] == [""] * 4
        assert images(swarm) == {"n1": image, "n2": image, "n3": image}
    ensure(gateways, "no good")
    silent.add("10.0.0.2")
    assert "The gateway of host2 does not answer." in ensure(gateways, "no good")
    assert images(swarm) == {"n1": "three", "n2": "no good", "n3": "three"}


def test_if_no_gateway_answers_at_most_one_is_updated(swarm: Manager, silent: set[str]) -> None:
    """For example if Berth's own network is down. The first one is updated because that may repair it."""
    gateways = NodeGateways(Connection())
    ensure(gateways)
    silent.update({"10.0.0.1", "10.0.0.2"})
    ensure(gateways, "two")
    assert "No gateway answers." in ensure(gateways, "two")
    assert images(swarm) == {"n1": "two", "n2": "one"}


def test_unneeded_gateways_are_removed(swarm: Manager) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    gateways.remove()
    assert (swarm.rows["services"], swarm.rows["secrets"]) == ([], [])


def test_a_failed_update_blocks_no_other_once_its_gateway_answers(swarm: Manager, silent: set[str]) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    ensure(gateways, "two")
    swarm.rows["services"][0]["UpdateStatus"] = {"State": "updating"}
    assert "The gateway of host1 is being changed." in ensure(gateways, "two")
    swarm.rows["services"][0]["UpdateStatus"] = {"State": "paused"}
    silent.add("10.0.0.1")
    assert "The gateway of host1 does not answer." in ensure(gateways, "two")
    silent.clear()
    assert ensure(gateways, "two") == ""
    assert images(swarm) == {"n1": "two", "n2": "two"}


def test_a_drained_node_has_no_gateway_that_others_wait_for(swarm: Manager, silent: set[str]) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    swarm.rows["nodes"][0]["Spec"]["Availability"] = "drain"
    silent.add("10.0.0.1")
    ensure(gateways, "two")
    assert ensure(gateways, "two") == ""
    assert images(swarm) == {"n1": "two", "n2": "two"}


def test_certificates_of_a_removed_node_are_deleted_although_its_service_is_gone(swarm: Manager) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    swarm.rows["nodes"] = [node(2)]
    swarm.rows["services"] = [row for row in swarm.rows["services"] if row["Spec"]["Labels"][NODE_LABEL] == "n2"]
    ensure(gateways)
    assert {row["Spec"]["Labels"][NODE_LABEL] for row in swarm.rows["secrets"]} == {"n2"}


def _is_pulled(swarm: Manager, *nodes: str) -> None:
    swarm.bodies[f"/services/{job_name(DIGEST)}"] = Answer.json(200, {"ID": "job"})
    swarm.rows["tasks"] = [task(each, "complete", container="c") for each in nodes]


def _ensure_of_registry(swarm: Manager, **image: Any) -> str:
    swarm.bodies["/images/gateway/json"] = Answer.json(200, {"Id": "sha256:new", **image})
    wanted = find_image(Connection(), "gateway")
    ensured = NodeGateways(Connection()).ensure(SPEC, image=wanted, listens_at=IPv4Address("10.231.0.1"))
    return ensured.warning


def test_with_a_registry_gateways_are_updated_only_on_nodes_with_the_image(swarm: Manager, settings: Any) -> None:
    ensure(NodeGateways(Connection()))
    settings.BERTH_REGISTRY = "r:5"
    assert NOT_PUSHED in _ensure_of_registry(swarm)
    swarm.bodies[f"/services/{job_name(DIGEST)}"] = Answer.json(404, {"message": "no such service"})
    warning = _ensure_of_registry(swarm, RepoDigests=[DIGEST])
    assert "2 (host1, host2)" in warning
    assert images(swarm) == {"n1": "one", "n2": "one"}
    swarm.rows["nodes"].append(node(3))
    _is_pulled(swarm, "n2")
    assert "2 (host1, host3)" in _ensure_of_registry(swarm, RepoDigests=[DIGEST])
    assert images(swarm) == {"n1": "one", "n2": DIGEST}
    _is_pulled(swarm, "n1", "n2", "n3")
    assert _ensure_of_registry(swarm, RepoDigests=[DIGEST]) == ""
    assert images(swarm) == {"n1": DIGEST, "n2": DIGEST, "n3": DIGEST}


def test_with_a_registry_none_is_made_of_an_image_that_no_node_has(swarm: Manager, settings: Any) -> None:
    settings.BERTH_REGISTRY = "r:5"
    with pytest.raises(ImageNotPulledError, match=NOT_PUSHED):
        _ensure_of_registry(swarm)
    assert not swarm.rows.get("services")
