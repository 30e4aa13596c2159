"""What an agent may reach: the strictest of the choices of installation, type, staff and owner."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import clock
from containers.gateway.vocabulary import Reach
from containers.vocabulary import Health
from projects.models import AgentType, Event, Project
from projects.rules.permissions import Egress, egress_in_force
from projects.services.limits.permissions import impose_egress
from projects.watcher.ends import crashes
from projects.watcher.ends.observation import record_observation
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, entry_of, knows
from tests.projects.gateway.reaching import STAFF, reach_of, wish

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]
WHO = ("installation", "type", "staff", "owner")


@pytest.mark.parametrize("who", WHO)
def test_a_change_of_egress_takes_effect_at_the_next_start(
    engine: MemoryEngine, project: Project, control: Control, api: APIClient, settings: Any, who: str
) -> None:
    for egress in (Egress.GATEWAY, Egress.INTERNET):
        before = engine.containers[project.container_name].container_id
        wish(who, egress, project, settings)
        assert api.get(f"/api/projects/{project.pk}").json()["egress"] == egress
        reconcile()
        look_after_gateway()
        assert engine.containers[project.container_name].container_id == before, "Nothing restarts by itself."
        assert reach_of(engine, project) != Reach(egress)
        assert control(project, "restart").json()["status"] == "running"
        assert reach_of(engine, project) == Reach(egress)
        assert knows(engine, project)
        assert counts_for(engine, project) == (True, True)


def test_the_strictest_egress_setting_counts() -> None:
    for wishes in product(Egress, repeat=len(WHO)):
        assert (egress_in_force(wishes) is Egress.GATEWAY) == (Egress.GATEWAY in wishes), wishes
    assert egress_in_force(["internet", "what a later version says"]) is Egress.GATEWAY


def test_a_crashed_agent_gets_the_new_egress_too(engine: MemoryEngine, project: Project) -> None:
    """It is not started again as it was, outside of the firewall's rules."""
    Project.objects.update(own_egress=Egress.GATEWAY)
    engine.crash(project.container_name, exit_code=1)
    reconcile()
    assert reach_of(engine, project) is Reach.GATEWAY


def _restarts_it(engine: MemoryEngine, name: str) -> None:
    engine.crash(name, exit_code=1, restarting=True)
    engine.restart_once_more(name)


def _restarts_it_after_a_while(engine: MemoryEngine, name: str) -> None:
    engine.crash(name, exit_code=1, restarting=True)
    reconcile()
    engine.restart_once_more(name)


def _comes_back_with_it(engine: MemoryEngine, name: str) -> None:
    engine.restart_engine()
    engine.restart_once_more(name)


@pytest.mark.parametrize("engine_does", [_restarts_it, _restarts_it_after_a_while, _comes_back_with_it])
@pytest.mark.parametrize("who", WHO)
def test_an_agent_that_the_engine_starts_again_gets_the_new_egress_too(
    engine: MemoryEngine,
    project: Project,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    who: str,
    engine_does: Callable[..., None],
) -> None:
    """With a firewall from boot on, the engine itself starts agents again, as they were."""
    monkeypatch.setattr(crashes, "HEARD_WITHIN", timedelta())
    reconcile()
    wish(who, Egress.GATEWAY, project, settings)
    reconcile()
    assert reach_of(engine, project) is Reach.INTERNET
    engine_does(engine, project.container_name)
    for _ in range(2):
        reconcile()
    assert reach_of(engine, project) is Reach.GATEWAY
    assert engine.containers[project.container_name].is_up


def test_a_report_of_a_run_that_goes_on_asks_the_database_for_no_egress(
    engine: MemoryEngine, project: Project, django_assert_num_queries: Any
) -> None:
    """It depends on the plan and the type, which would be two more queries for each report."""
    seen = replace(engine.containers[project.container_name].observation, health=Health.UNHEALTHY)
    row = Project.objects.select_related("owner").get(pk=project.pk)
    with django_assert_num_queries(3):  # the update, in a transaction
        assert record_observation(row, seen, at=clock.now())
    assert Project.objects.get(pk=project.pk).health == Health.UNHEALTHY


@pytest.mark.parametrize("verb", ["create", "validate", "change"])
@pytest.mark.parametrize("value", ["", "none", "GATEWAY", " gateway", None, True, 1, ["gateway"], {"gateway": 1}])
def test_an_invalid_egress_is_refused(
    api: APIClient, body: dict[str, Any], project: Project, verb: str, value: Any
) -> None:
    answer = ask(api, body, project, verb, value)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"].startswith("egress")


@pytest.mark.parametrize("verb", ["create", "validate", "change"])
@pytest.mark.parametrize("who", ["installation", "type", "staff"])
def test_an_owner_cannot_ask_for_more_than_there_is(
    api: APIClient, body: dict[str, Any], project: Project, settings: Any, verb: str, who: str
) -> None:
    if who == "staff" and verb != "change":
        return
    wish(who, Egress.GATEWAY, project, settings)
    answer = ask(api, body, project, verb, "internet")
    assert answer.status_code == 400
    assert (answer.json()["errors"][0]["field"], answer.json()["errors"][0]["code"]) == ("egress", "not_allowed")
    assert ask(api, body, project, verb, "gateway").status_code < 300


def ask(api: APIClient, body: dict[str, Any], project: Project, verb: str, value: Any) -> Any:
    if verb == "change":
        return api.patch(f"/api/projects/{project.pk}", {"egress": value})
    path = "/api/projects" + "/validate" * (verb == "validate")
    return api.post(path, body | {"plan": "pro", "telegramToken": "555:a-free-bot", "egress": value})


def test_an_owner_can_tighten_the_egress_and_an_event_records_it(
    engine: MemoryEngine, api: APIClient, body: dict[str, Any]
) -> None:
    detail = api.post("/api/projects", body | {"egress": "gateway"}).json()
    project = Project.objects.get()
    assert detail["egress"] == "gateway"
    assert reach_of(engine, project) is Reach.GATEWAY
    assert api.patch(f"/api/projects/{project.pk}", {"egress": "internet"}).json()["egress"] == "internet"
    assert api.get(f"/api/projects/{project.pk}/events").json()[0]["detail"] == "changed: egress"


def test_staff_decide_once_and_the_owner_sees_it(api: APIClient, project: Project) -> None:
    for _ in range(2):
        impose_egress(project=project, egress=Egress.GATEWAY, actor=STAFF)
    event = Event.objects.get(project_id=project.pk, action="egress")
    assert (event.outcome, event.actor) == ("gateway", STAFF.label)
    assert api.get(f"/api/projects/{project.pk}").json()["egress"] == "gateway"


def test_an_agent_without_credentials_is_confined_as_well(
    engine: MemoryEngine, api: APIClient, body: dict[str, Any]
) -> None:
    AgentType.objects.update(needs_telegram_token=False, needs_api_key=False, allowed_hosts="api.example.com")
    del body["telegramToken"], body["apiKey"]
    api.post("/api/projects", body | {"egress": "gateway"})
    project = Project.objects.get()
    assert reach_of(engine, project) is Reach.GATEWAY
    assert entry_of(engine, project)["hosts"] == ["api.example.com"]
    assert api.delete(f"/api/projects/{project.pk}").status_code == 204
    assert entry_of(engine, project) is None
