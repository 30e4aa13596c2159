"""A change by an owner, staff or the watcher is in force at the gateway before it is reported as done."""

from collections.abc import Callable
from typing import Any

import pytest

from containers.errors import EngineUnavailableError, StillStoppingError
from projects.models import Actor, Event, Project, Quarantined
from projects.services import delete_project, lift_suspension, suspend_project
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, entry_of, knows
from tests.projects.watcher.other_databases import grow_old, lose_row
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db
STAFF = Actor(label="sam@example.com", source="admin")
Control = Callable[..., Any]


def stop(project: Project, api: Any) -> None:
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "stop"}).status_code == 200


def suspend(project: Project, _api: Any) -> None:
    suspend_project(project=project, actor=STAFF)


def delete(project: Project, _api: Any) -> None:
    assert delete_project(project=project, actor=STAFF)


ENDS = [stop, suspend, delete]


@pytest.mark.parametrize("end", ENDS)
def test_its_credentials_are_void_when_the_verb_is_done(
    end: Callable[..., None], engine: MemoryEngine, project: Project, api: Any
) -> None:
    before = engine.gateway_program.versions[str(project.pk)]
    end(project, api)
    assert entry_of(engine, project) is None
    assert engine.gateway_program.versions[str(project.pk)] > before


@pytest.mark.parametrize("end", ENDS)
def test_a_verb_succeeds_although_the_gateway_cannot_be_reached(
    end: Callable[..., None], engine: MemoryEngine, project: Project, api: Any
) -> None:
    engine.fail("gateway", EngineUnavailableError)
    end(project, api)
    assert entry_of(engine, project) is not None
    assert Event.objects.filter(project_id=project.pk, action="gateway", outcome="not told").exists()
    row = Project.objects.filter(pk=project.pk).first()
    assert row is None or not row.facts().is_up


def test_a_suspended_agent_loses_its_credentials_before_it_ends(engine: MemoryEngine, project: Project) -> None:
    """No matter how long that takes."""
    engine.slow("stop", lambda: wait_until(lambda: entry_of(engine, project) is None))
    suspend_project(project=project, actor=STAFF)
    assert entry_of(engine, project) is None


def test_an_agent_stopped_by_its_owner_keeps_its_credentials_until_it_ends(
    engine: MemoryEngine, project: Project, control: Control
) -> None:
    seen: list[bool] = []
    engine.slow("stop", lambda: seen.append(entry_of(engine, project) is not None))
    control(project, "stop")
    assert seen == [True]


@pytest.mark.parametrize("error", [EngineUnavailableError, StillStoppingError])
def test_credentials_are_void_even_if_the_engine_does_not_stop_the_agent(
    error: type[Exception], engine: MemoryEngine, project: Project, control: Control
) -> None:
    engine.fail("stop", error("It takes longer."))
    assert control(project, "stop").status_code == 202
    assert entry_of(engine, project) is None


def test_a_start_after_a_stop_brings_the_same_credentials_back(
    engine: MemoryEngine, project: Project, control: Control
) -> None:
    files = engine.secrets_of(project.container_name)
    control(project, "stop")
    control(project, "start")
    assert engine.secrets_of(project.container_name) == files
    assert counts_for(engine, project) == (True, True)


def test_a_lifted_suspension_restores_the_credentials(engine: MemoryEngine, project: Project) -> None:
    suspend_project(project=project, actor=STAFF)
    project.refresh_from_db()
    lift_suspension(project=project, actor=STAFF)
    assert counts_for(engine, project) == (True, True)


def test_a_new_key_and_a_new_token_are_in_force_at_once(engine: MemoryEngine, project: Project, api: Any) -> None:
    """Even that of another bot, whose number is not compared."""
    before = engine.containers[project.container_name], engine.secrets_of(project.container_name)
    change = {"apiKey": CANARY_OTHER_API_KEY, "telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}
    assert api.patch(f"/api/projects/{project.pk}", change).status_code == 200
    entry = entry_of(engine, project)
    assert (entry["provider"]["key"], entry["telegram"]["token"]) == (CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN)
    assert counts_for(engine, project) == (True, True)
    assert (engine.containers[project.container_name], engine.secrets_of(project.container_name)) == before


def test_a_new_name_sends_nothing_to_the_gateway(engine: MemoryEngine, project: Project, api: Any) -> None:
    told = len(engine.gateway_program.applied)
    assert api.patch(f"/api/projects/{project.pk}", {"name": "Another"}).status_code == 200
    assert len(engine.gateway_program.applied) == told
    assert knows(engine, project)


def test_a_change_succeeds_although_the_gateway_cannot_be_reached(
    engine: MemoryEngine, project: Project, api: Any
) -> None:
    engine.fail("gateway", EngineUnavailableError)
    assert api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY}).status_code == 200
    assert not knows(engine, project)
    assert Event.objects.filter(project_id=project.pk, action="gateway").exists()


def test_a_lost_answer_is_reported_as_unknown(engine: MemoryEngine, project: Project, control: Control) -> None:
    engine.lose("gateway")
    control(project, "stop")
    assert Event.objects.filter(project_id=project.pk, action="gateway").exists()


def test_an_agent_that_is_given_up_loses_its_credentials(engine: MemoryEngine, project: Project) -> None:
    engine.crash(project.container_name, exit_code=20)
    reconcile()
    reconcile()
    project.refresh_from_db()
    assert project.gave_up_at is not None
    assert entry_of(engine, project) is None


def test_real_and_virtual_credentials_are_redacted_in_logs(engine: MemoryEngine, project: Project, api: Any) -> None:
    for secret in engine.secrets_of(project.container_name).values():
        engine.log(project.container_name, f"the whole is {secret}")
        engine.log(project.container_name, f"a part is {secret[-30:]}")
    text = api.get(f"/api/projects/{project.pk}/logs").content.decode()
    assert text.count("the whole is [redacted]") == 2
    for secret in engine.secrets_of(project.container_name).values():
        assert secret[-30:] not in text
    assert "bvk_" not in text


def test_the_gateway_gets_no_entry_for_a_project_outside_it(
    engine: MemoryEngine, without_gateway: Project, control: Control
) -> None:
    assert without_gateway.address is None
    engine.calls.clear()
    control(without_gateway, "stop")
    assert "gateway" not in [verb for verb, _ in engine.calls]


def test_a_quarantined_agent_loses_its_credentials_and_its_log_has_none(engine: MemoryEngine, project: Project) -> None:
    """Its row is lost, as with an older backup. Void credentials need not be known to anyone."""
    secret = engine.secrets_of(project.container_name)["agent_api_key"]
    engine.log(project.container_name, f"key={secret[::-1]}!")
    key = str(project.pk)
    lose_row()
    grow_old(engine)
    reconcile()
    assert secret[::-1] not in Quarantined.objects.get().log
    look_after_gateway()
    assert engine.gateway_program.entries[key] is None
