"""Where Berth may not set the firewall, agents come to the gateway by a port of the host, all from one address."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from containers.docker.gateway import egress
from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError
from tests.gateway.on_engine import PATIENCE, Harbour

pytestmark = [pytest.mark.docker, pytest.mark.one_database]


@pytest.fixture(scope="module")
def harbour() -> Iterator[Harbour]:
    def refuse(_connection: Connection) -> None:
        raise EngineRefusedError("There is no image for that.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(egress, "find_obstacle", lambda: "Berth is not root.")
        patch.setattr(egress, "can_set_rules", lambda: False)
        patch.setattr(egress, "set_rules", refuse)
        with override_settings(BERTH_FIREWALL="best-effort"), Harbour().open() as harbour:
            yield harbour


def test_without_a_firewall_the_credential_alone_counts_and_staff_are_notified(harbour: Harbour) -> None:
    assert harbour.warning
    assert not harbour.address.knows_sources
    assert harbour.address.host == str(harbour.network.host)
    alice = harbour.settle()
    harbour.telegram.say(alice.token, 1, "Anybody there?")
    assert harbour.telegram.wait_for_message(alice.token, timeout=PATIENCE).text == "You said: Anybody there?"
    assert harbour.ask_from_here(harbour.get_me(alice)).startswith("200 ")
    harbour.void(alice)
    assert harbour.ask_from(alice, harbour.get_me(alice)).startswith("401 ")
    # Agents that run know this address: it stays, whatever becomes of the rules.
    again = type(harbour.engine)()
    again._egress._holds = True
    assert again.ensure_gateway(harbour.spec) == harbour.address
