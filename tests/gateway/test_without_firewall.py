"""If Berth may not set the firewall, agents reach the gateway through a port of the host, all from one address."""

import subprocess
from collections.abc import Callable, Iterator

import pytest
from django.test import override_settings

from containers.docker.gateway import egress
from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError
from containers.firewall import iptables
from containers.firewall.iptables import current_rules
from containers.firewall.script import as_script
from tests.containers.firewall.fake_internet import listener
from tests.gateway.on_engine import PATIENCE, GatewayTestbed
from tests.gateway.test_reach import connect

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


def _script_by_the_operator(testbed: GatewayTestbed, _: pytest.MonkeyPatch) -> None:
    """As `manage.py firewall` prints it."""
    testbed.engine.find_agents_network()
    subprocess.run(["sh"], input=as_script(current_rules()), text=True, check=True)


def _by_berth(testbed: GatewayTestbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has got the right to set rules, or the image for it."""
    for name in ("find_obstacle", "can_set_rules"):
        monkeypatch.setattr(egress, name, getattr(iptables, name))
    assert testbed.engine.ensure_firewall() is None


@pytest.mark.skipif(not iptables.can_set_rules(), reason="takes root and iptables")
@pytest.mark.parametrize("set_rules", [_script_by_the_operator, _by_berth])
def test_agents_keep_their_gateway_when_rules_are_set_later(
    testbed: GatewayTestbed, monkeypatch: pytest.MonkeyPatch, set_rules: Callable[..., None]
) -> None:
    """They know it by a port of the host, and reach no other port there from then on."""
    alice = testbed.settle()
    host = str(testbed.network.host)
    with listener():
        assert "reached" in connect(testbed, alice.name, host)
        set_rules(testbed, monkeypatch)
        try:
            assert testbed.ask_from(alice, testbed.get_me(alice)).startswith("200 ")
            assert "refused" in connect(testbed, alice.name, host)
            testbed.telegram.say(alice.token, 1, "Still there?")
            assert testbed.telegram.wait_for_message(alice.token, timeout=PATIENCE).text == "You said: Still there?"
        finally:
            iptables.remove_rules()


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
