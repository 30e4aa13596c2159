"""An operation in flight postpones no revocation and no new credential, whatever it knew when it began."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import clock
from accounts.models import User
from containers.errors import EngineUnavailableError
from projects.models import Actor, Event, Project
from projects.services import suspend_project
from projects.services.account.deletion import ITSELF, carry_on
from projects.services.bulkheads import COMMANDS
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import entry_of, knows
from tests.projects.services.races import held, once, status

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
STAFF = Actor(label="sam@example.com", source="admin")
Scene = Callable[[Project, Any, MemoryEngine], Callable[[], object]]


def control(action: str) -> Scene:
    return lambda project, api, _: lambda: api.post(f"/api/projects/{project.pk}/control", {"action": action})


def start(project: Project, api: Any, engine: MemoryEngine) -> Callable[[], object]:
    control("stop")(project, api, engine)()
    return control("start")(project, api, engine)


def take_down(project: Project, _api: Any, _engine: MemoryEngine) -> Callable[[], object]:
    """By the watcher, for the owner."""
    Project.objects.filter(pk=project.pk).update(desired="stopped")
    return reconcile


def give_up(project: Project, _api: Any, _engine: MemoryEngine) -> Callable[[], object]:
    """By the watcher, while the owner wants the agent to run."""
    Project.objects.filter(pk=project.pk).update(crash_count=5, crashes_since=clock.now())
    return reconcile


def clear(project: Project, api: Any, _engine: MemoryEngine) -> Callable[[], object]:
    return lambda: api.delete(f"/api/projects/{project.pk}/memory")


STOPS: dict[str, Scene] = {"stop": control("stop"), "take down": take_down, "give up": give_up}
OTHERS: dict[str, Scene] = {"restart": control("restart"), "start": start, "clear the memory": clear}


def during(engine: MemoryEngine, name: str, act: Callable[[], object]) -> None:
    """Acts while the operation waits for the engine."""
    once(engine, "deploy.create" if name in {"restart", "start"} else "stop", act)


def suspend(project: Project) -> Project:
    return suspend_project(project=Project.objects.select_related("owner").get(pk=project.pk), actor=STAFF)


@pytest.mark.parametrize("has_place", [True, False])
@pytest.mark.parametrize("name", STOPS | OTHERS)
def test_a_suspension_voids_the_credentials_at_once(
    name: str, has_place: bool, engine: MemoryEngine, project: Project, api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out, seen = (STOPS | OTHERS)[name](project, api, engine), []

    def act() -> None:
        with monkeypatch.context() as patch:
            if not has_place:
                patch.setattr(COMMANDS, "try_take", lambda _: False)
            suspend(project)
        seen.append(entry_of(engine, project))

    during(engine, name, act)
    carry_out()
    assert seen == [None]
    reconcile()
    look_after_gateway()
    assert entry_of(engine, project) is None
    assert status(api, project) == "suspended"
    assert not any(container.is_up for container in engine.containers.values())


@pytest.mark.parametrize("name", STOPS)
def test_a_suspension_that_the_gateway_missed_is_told_before_the_stop_ends(
    name: str, engine: MemoryEngine, project: Project, api: APIClient
) -> None:
    carry_out, seen = STOPS[name](project, api, engine), []

    def act() -> None:
        engine.fail("gateway", EngineUnavailableError)
        suspend(project)
        seen.append(entry_of(engine, project) is None)
        look_after_gateway()
        seen.append(entry_of(engine, project) is None)

    during(engine, name, act)
    carry_out()
    assert seen == [False, True]
    assert Event.objects.filter(project_id=project.pk, action="gateway", outcome="not told").exists()
    assert entry_of(engine, project) is None


def deactivate(project: Project) -> None:
    User.objects.filter(pk=project.owner_id).update(is_active=False)


def close_account(project: Project) -> None:
    User.objects.filter(pk=project.owner_id).update(is_active=False, closed_at=clock.now())
    carry_on(project.owner, ITSELF)


@pytest.mark.parametrize("end", [deactivate, close_account])
@pytest.mark.parametrize("name", STOPS | OTHERS)
def test_the_watcher_voids_the_credentials_of_an_owner_who_is_not_active(
    name: str, end: Callable[[Project], None], engine: MemoryEngine, project: Project, api: APIClient
) -> None:
    carry_out, seen = (STOPS | OTHERS)[name](project, api, engine), []

    def act() -> None:
        end(project)
        look_after_gateway()
        seen.append(entry_of(engine, project))

    during(engine, name, act)
    carry_out()
    assert seen == [None]
    reconcile()
    look_after_gateway()
    assert entry_of(engine, project) is None
    assert not any(container.is_up for container in engine.containers.values())


def test_a_deletion_that_the_gateway_missed_is_told_before_the_agent_ends(
    engine: MemoryEngine, project: Project
) -> None:
    held(project, "delete", seconds=20, desired="deleted")
    look_after_gateway()
    assert entry_of(engine, project) is None


@pytest.mark.parametrize("name", OTHERS)
def test_a_new_key_that_the_gateway_missed_is_told_before_the_operation_ends(
    name: str, engine: MemoryEngine, project: Project, api: APIClient
) -> None:
    carry_out, seen = OTHERS[name](project, api, engine), []

    def act() -> None:
        engine.fail("gateway", EngineUnavailableError)
        api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY})
        look_after_gateway()
        seen.append(entry_of(engine, project)["provider"]["key"])

    during(engine, name, act)
    carry_out()
    assert seen == [CANARY_OTHER_API_KEY]
    assert knows(engine, project)
