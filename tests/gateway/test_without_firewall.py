"""If Berth may not set the firewall, agents reach the gateway through a port of the host, all from one address."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from containers.docker.gateway import egress
from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError
from tests.gateway.on_engine import PATIENCE, GatewayTestbed

pytestmark = [pytest.mark.docker, pytest.mark.one_database]


@pytest.fixture(scope="module")
def testbed() -> Iterator[GatewayTestbed]:
    def refuse(_connection: Connection) -> None:
        raise EngineRefusedError("There is no image for that.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(egress, "find_obstacle", lambda: "Berth is not root.")
        patch.setattr(egress, "can_set_rules", lambda: False)
        patch.setattr(egress, "set_rules", refuse)
        with override_settings(BERTH_FIREWALL="best-effort"), GatewayTestbed().open() as testbed:
            yield testbed


def test_without_a_firewall_the_credential_alone_counts_and_staff_are_notified(testbed: GatewayTestbed) -> None:
    assert testbed.warning
    assert not testbed.address.knows_sources
    assert testbed.address.host == str(testbed.network.host)
    alice = testbed.settle()
    testbed.telegram.say(alice.token, 1, "Anybody there?")
    assert testbed.telegram.wait_for_message(alice.token, timeout=PATIENCE).text == "You said: Anybody there?"
    assert testbed.ask_from_here(testbed.get_me(alice)).startswith("200 ")
    testbed.void(alice)
    assert testbed.ask_from(alice, testbed.get_me(alice)).startswith("401 ")
    # Running agents know this address, so it stays the same even if the rules change.
    again = type(testbed.engine)()
    again._egress._holds = True
    assert again.ensure_gateway(testbed.spec) == testbed.address
