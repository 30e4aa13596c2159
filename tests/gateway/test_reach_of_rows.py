"""From an owner's settings, through the service and the engine, to the places that packets reach."""

from typing import Any

import pytest

from accounts import clock
from containers import get_engine
from containers.gateway.vocabulary import PORT
from containers.identity import container_name
from containers.programs import is_root
from projects.models import Gateway
from tests.clients import api_of, make_person
from tests.containers.firewall.fake_internet import fake_internet, listener
from tests.containers.firewall.test_firewall import can_filter
from tests.deploying import PROJECT
from tests.gateway.on_engine import PATIENCE, GatewayTestbed
from tests.gateway.test_reach import connect

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.django_db,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
    can_filter,
]


@pytest.fixture
def service(testbed: GatewayTestbed, monkeypatch: pytest.MonkeyPatch, settings: Any) -> GatewayTestbed:
    """Uses the testbed's engine, and knows the gateway that runs there."""
    monkeypatch.setattr(get_engine, "_load", lambda _: testbed.engine)
    settings.BERTH_GATEWAY = True
    settings.BERTH_TELEGRAM_API, settings.BERTH_PROVIDER_API = testbed.telegram.url, testbed.provider.api_base
    where = {"subnet": str(testbed.network.subnet), "host": testbed.address.host, "port": testbed.address.port}
    Gateway.objects.create(pk=testbed.instance, knows_sources=True, found_at=clock.now(), **where)
    return testbed


@pytest.mark.rare(2)
def test_an_agent_has_the_egress_that_its_owner_chose(service: GatewayTestbed) -> None:
    agent, api = service.new_agent(), api_of(make_person("alice"))
    body = PROJECT | {"telegramToken": agent.token, "apiKey": agent.key, "egress": "gateway"}
    answer = api.post("/api/projects", body)
    assert answer.status_code == 201, answer.content
    project = answer.json()
    name = container_name(project["id"])
    with fake_internet() as public, listener():
        for egress in ("gateway", "internet"):
            if egress == "internet":
                path = f"/api/projects/{project['id']}?restart=true"
                assert api.patch(path, {"egress": egress}).status_code == 200
            assert "reached" in connect(service, name, service.address.host, PORT)
            assert ("reached" in connect(service, name, public)) == (egress == "internet")
            service.telegram.wait_for_poll(agent.token, timeout=PATIENCE)
    assert api.delete(f"/api/projects/{project['id']}").status_code == 204
