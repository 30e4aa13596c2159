"""A NAT rule on the host changes an agent's address on its way to the gateway, such as a rule left by a removed
network.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from containers.gateway.sightings import Sighting
from containers.programs import is_root
from tests.gateway.on_engine import PATIENCE, DeployedAgent, GatewayTestbed
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
]


@contextmanager
def masqueraded(agent: DeployedAgent) -> Iterator[None]:
    """The rule matches the address of one agent only, so that no one else's packets are changed."""
    rule = ["POSTROUTING", "-s", f"{agent.address}/32", "-j", "MASQUERADE"]
    subprocess.run(["iptables", "-w", "-t", "nat", "-I", *rule], check=True)
    try:
        yield
    finally:
        subprocess.run(["iptables", "-w", "-t", "nat", "-D", *rule], check=True)


def test_an_agent_with_a_changed_address_retries_and_answers_once_the_rule_is_gone(testbed: GatewayTestbed) -> None:
    agent = testbed.new_agent()
    testbed.tell(agent)

    def seen() -> Sighting | None:
        sighting = testbed.control.look().sightings.get(agent.project)
        return sighting if sighting is not None and sighting.astray else None

    with masqueraded(agent):
        testbed.deploy(agent)
        sighting = wait_until(seen, within=PATIENCE, every=0.1)
        assert sighting.astray_from == str(testbed.network.host)
        assert testbed.calls_of(agent) == 0
        container = testbed.client.inspect_container(agent.name)
        assert container["State"]["ExitCode"] in (0, 75), "It does not take its token for a wrong one."
    testbed.telegram.wait_for_poll(agent.token, timeout=PATIENCE)
    assert testbed.control.look().sightings[agent.project].telegram_status == 200
