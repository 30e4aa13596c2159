"""kill -9 of the service in each verb, before each write and each call to the engine or the gateway.

No matter what was done by then, two rounds of the watcher later nothing is in flight, the agent is in its desired
state, and its credentials are valid exactly if it should run.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from accounts import clock
from projects.models import Actor, Gateway, Project
from projects.rules.status.lifecycle import Desired
from projects.services import delete_project, lift_suspension, suspend_project
from projects.services.observation import refresh
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, knows
from tests.projects.given_credentials import credentials_of
from tests.projects.telling import FIRST, LAST, tell_in_the_same_thread
from tests.projects.watcher.killed_operations import OF_GATEWAY, STEPS, killed_at

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
STAFF = Actor(label="sam@example.com", source="admin")
Verb = Callable[[Project, Any], object]


def control(action: str) -> Verb:
    return lambda project, api: api.post(f"/api/projects/{project.pk}/control", {"action": action})


def change(project: Project, api: Any) -> None:
    api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY})


def suspend(project: Project, _api: Any) -> None:
    suspend_project(project=project, actor=STAFF)


def lift(project: Project, _api: Any) -> None:
    lift_suspension(project=project, actor=STAFF)


def delete(project: Project, _api: Any) -> None:
    delete_project(project=project, actor=STAFF)


def nothing(_project: Project, _api: Any) -> None:
    pass


def look(_project: Project, _api: Any) -> None:
    """The watcher's check of a gateway that has vanished, and of a project that it was not told about."""
    Gateway.objects.update(found_at=None, told_digest="")
    look_after_gateway()


EVERY = range(1, 99)
VERBS: dict[str, tuple[Verb, Verb, str, range]] = {
    "stop": (nothing, control("stop"), FIRST, EVERY),
    "start": (control("stop"), control("start"), FIRST, range(1, 99, 2)),
    "restart": (nothing, control("restart"), LAST, range(2, 99, 2)),
    "a new key": (nothing, change, FIRST, EVERY),
    "suspend": (nothing, suspend, LAST, EVERY),
    "lift": (suspend, lift, LAST, range(2, 99, 2)),
    "delete": (nothing, delete, FIRST, EVERY),
    "a look": (nothing, look, FIRST, EVERY),
}
"""What happens before, the verb that is killed, when it notifies the gateway, and the effects before which it is
killed.

A start and a restart do the same from the second effect on, so that they share them.
"""


def begin(engine: MemoryEngine, deploy: Callable[..., Project]) -> Project:
    Project.objects.all().delete()
    Gateway.objects.all().delete()
    engine.reset()
    return deploy()


def converge() -> None:
    Project.objects.exclude(operation="").update(operation_deadline=clock.now() - timedelta(seconds=1))
    for _ in range(2):
        reconcile()
        look_after_gateway()


def assert_true(engine: MemoryEngine, key: str) -> None:
    """Asserts that the gateway has the current version of an agent that should run.

    Of an agent that should not, it may have an earlier version that was void as well or, after losing everything, none:
    no check compares a million agents at rest, and each start raises the version and notifies the gateway itself.
    """
    row = Project.objects.filter(pk=key).first()
    if row is None or row.desired == Desired.DELETED:
        assert row is None, "It is being deleted for ever."
        assert engine.containers == {}
        assert engine.gateway_program.entries.get(key) is None
        return
    is_to_run = row.desired == Desired.RUNNING and not row.is_suspended
    refresh([row])  # as every read does: on a busy machine the row is older than five seconds
    assert (row.operation, row.failure_code) == ("", "")
    assert row.status == ("running" if is_to_run else "suspended" if row.is_suspended else "stopped")
    container = engine.containers.get(row.container_name)
    assert (container is not None and container.is_up) is is_to_run
    assert (engine.gateway_program.entries.get(key) is not None) is is_to_run
    if is_to_run:
        assert knows(engine, row)
        assert counts_for(engine, row) == (True, True)
        assert credentials_of(engine, row)["agent_api_key"] == row.decrypt_credential("api_key")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", VERBS)
def test_after_a_kill_at_any_point_the_remaining_steps_follow(
    name: str, engine: MemoryEngine, deploy: Callable[..., Project], api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, verb, when, numbers = VERBS[name]
    tell_in_the_same_thread(monkeypatch, when)
    for number in numbers:
        project = begin(engine, deploy)
        before(project, api)
        Gateway.objects.update(found_at=None)
        with killed_at(number, engine, (*STEPS, *OF_GATEWAY)) as effects:
            verb(project, api)
        converge()
        assert_true(engine, str(project.pk))
        if len(effects) < number:
            assert "gateway" in effects, "It has told the gateway nothing."
            return
    pytest.fail("There are more effects than numbers.")
