"""An agent that may only reach the gateway does not run if nothing enforces that."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import clock
from containers.gateway.vocabulary import Reach
from projects.models import Gateway, Project, Watch
from projects.rules.permissions import Egress
from projects.rules.status.lifecycle import LEASE
from projects.services.gateway.provisioning import describe_trouble
from projects.watcher.leader import note_firewall
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.reaching import reach_of, wish

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]


@pytest.mark.parametrize("who", ["type", "staff", "owner"])
@pytest.mark.parametrize("verb", ["start", "restart"])
def test_a_confined_agent_does_not_start_without_a_gateway_and_shows_why(
    engine: MemoryEngine, project: Project, control: Control, api: APIClient, settings: Any, who: str, verb: str
) -> None:
    wish(who, Egress.GATEWAY, project, settings)
    control(project, "stop")
    settings.BERTH_GATEWAY = False
    answer = control(project, verb)
    assert (answer.status_code, answer.json()["code"]) == (409, "gateway_off")
    assert not engine.containers[project.container_name].is_up
    detail = api.get(f"/api/projects/{project.pk}").json()
    assert (detail["status"], detail["status_reason"]["code"]) == ("failed", "gateway_off")
    assert ("switched off" in describe_trouble()) == (who == "type")


def test_a_new_confined_agent_does_not_start_without_a_gateway_and_leaves_nothing(
    engine: MemoryEngine, api: APIClient, body: dict[str, Any], settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    answer = api.post("/api/projects", body | {"egress": "gateway"})
    assert (answer.status_code, answer.json()["code"]) == (409, "gateway_off")
    assert not Project.objects.exists()
    assert engine.containers == {}


def test_a_confined_agent_that_crashes_without_a_gateway_stays_down(
    engine: MemoryEngine, project: Project, settings: Any
) -> None:
    Project.objects.update(own_egress=Egress.GATEWAY)
    settings.BERTH_GATEWAY = False
    engine.crash(project.container_name, exit_code=1)
    reconcile()
    assert not engine.containers[project.container_name].is_up


@pytest.mark.parametrize("lacking", ["rules", "sources"])
def test_a_confined_agent_does_not_start_without_a_firewall(
    engine: MemoryEngine, project: Project, control: Control, api: APIClient, lacking: str
) -> None:
    """Although all other agents do."""
    engine.firewall_warning = "There are no rules." if lacking == "rules" else None
    engine.knows_sources = lacking != "sources"
    Gateway.objects.update(found_at=None)
    assert control(project, "restart").status_code == 200
    assert api.patch(f"/api/projects/{project.pk}", {"egress": "gateway"}).status_code == 200
    control(project, "stop")
    assert control(project, "start").status_code == 503
    assert not engine.containers[project.container_name].is_up


@pytest.mark.parametrize("verb", ["create", "start", "restart", "change"])
@pytest.mark.parametrize("confined", [True, False])
def test_a_confined_agent_does_not_start_while_the_watcher_finds_the_rules_without_effect(
    engine: MemoryEngine, project: Project, api: APIClient, body: dict[str, Any], verb: str, *, confined: bool
) -> None:
    """The process that answers the request has set the rules, and sees nothing that lets packets past them."""
    if confined:
        Project.objects.update(own_egress=Egress.GATEWAY)
    path = f"/api/projects/{project.pk}"
    if verb == "start":
        api.post(f"{path}/control", {"action": "stop"})
    Watch.objects.update_or_create(
        pk=project.instance, defaults={"firewall_warning": "Not refused.", "lease_until": clock.now() + LEASE}
    )
    before = {name: each.container_id for name, each in engine.containers.items() if each.is_up}
    match verb:
        case "create":
            another = body | {"plan": "pro", "telegramToken": "555:a-free-bot"}
            answer = api.post("/api/projects", another | ({"egress": "gateway"} if confined else {}))
        case "change":
            answer = api.patch(f"{path}?restart=true", {"settings": {"instructions": "Be brief"}})
        case _:
            answer = api.post(f"{path}/control", {"action": verb})
    after = {name: each.container_id for name, each in engine.containers.items() if each.is_up}
    assert (answer.status_code == 503, after == before) == (confined, confined), answer.content


def test_only_confined_agents_are_stopped_when_the_rules_are_lost(
    engine: MemoryEngine, deploy: Callable[..., Project], api: APIClient
) -> None:
    confined, free = deploy(egress="gateway"), deploy(telegramToken="555:another-bot")
    Watch.objects.get_or_create(pk=confined.instance)
    note_firewall("There are no rules.", bars_agents=False)
    engine.firewall_warning = "There are no rules."
    reconcile()
    assert not engine.containers[confined.container_name].is_up
    assert engine.containers[free.container_name].is_up
    note_firewall("", bars_agents=False)
    engine.firewall_warning = None
    reconcile()
    assert engine.containers[confined.container_name].is_up
    assert reach_of(engine, confined) is Reach.GATEWAY
