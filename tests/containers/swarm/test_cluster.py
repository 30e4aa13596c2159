"""The Swarm of the tests behaves like a real one."""

import pytest

from tests.containers.swarm.cluster import Cluster
from tests.waiting import wait_until

pytestmark = pytest.mark.docker


def test_three_engines_form_one_swarm_and_share_nothing(cluster: Cluster) -> None:
    found = {row["ID"]: row["Status"]["State"] for row in cluster.manager.client.nodes()}
    assert found == {node.node_id: "ready" for node in cluster.nodes}
    assert {node.client.info()["Name"] for node in cluster.nodes} == {"node1", "node2", "node3"}


def test_a_drained_node_runs_nothing_until_it_is_active_again(cluster: Cluster) -> None:
    node = cluster.nodes[2]
    cluster.set_availability(node, "drain")
    wait_until(lambda: _availability(cluster, node.node_id) == "drain", within=30)
    cluster.set_availability(node, "active")
    assert _availability(cluster, node.node_id) == "active"


def _availability(cluster: Cluster, node_id: str) -> str:
    return str(cluster.manager.client.inspect_node(node_id)["Spec"]["Availability"])
