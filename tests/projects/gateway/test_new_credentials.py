"""An agent that was given up because of a credential is tried again with a new one, and for no other reason."""

from collections.abc import Callable
from typing import Any

import pytest

from containers.agent_contract import ExitCode
from projects.models import Event, Project
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, entry_of, knows

pytestmark = pytest.mark.django_db
TOKEN, KEY = {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN}, {"apiKey": CANARY_OTHER_API_KEY}
CURES = [
    (ExitCode.TELEGRAM_TOKEN, TOKEN), (ExitCode.TELEGRAM_TOKEN, TOKEN | KEY), (ExitCode.TELEGRAM_CONFLICT, TOKEN),
    (ExitCode.PROVIDER_KEY, KEY), (ExitCode.PROVIDER_CREDIT, KEY), (ExitCode.CONFIGURATION, KEY),
]  # fmt: skip
NO_CURES = [
    (ExitCode.TELEGRAM_TOKEN, KEY), (ExitCode.TELEGRAM_TOKEN, {"name": "Another"}), (ExitCode.PROVIDER_KEY, TOKEN),
    (ExitCode.PROVIDER_MODEL, KEY), (ExitCode.PROVIDER_KEY, {"settings": {"model": "m"}}),
]  # fmt: skip


@pytest.mark.parametrize(("end", "change"), CURES)
@pytest.mark.parametrize("behind", [True, False])
def test_new_credentials_that_cure_the_failure_start_the_agent(
    engine: MemoryEngine, deploy: Callable[..., Project], api: Any, settings: Any, end: int, change: Any, behind: bool
) -> None:
    settings.BERTH_GATEWAY = behind
    project = deploy()
    give_up(engine, project, end)
    detail = api.patch(f"/api/projects/{project.pk}", change).json()
    assert detail["status"] in {"crashed", "restarting"}
    reconcile()
    assert engine.containers[project.container_name].is_up
    assert Event.objects.filter(project_id=project.pk, action="new credentials").count() == 1
    if behind:
        assert knows(engine, project)
        assert counts_for(engine, project) == (True, True)
    else:
        held = set(engine.secrets_of(project.container_name).values())
        assert set(change.values()) <= held
    give_up(engine, project, end)  # the new one is refused as well
    reconcile()
    assert not engine.containers[project.container_name].is_up


@pytest.mark.parametrize(("end", "change"), NO_CURES)
def test_a_failed_agent_is_not_started_by_an_unrelated_change(
    engine: MemoryEngine, project: Project, api: Any, end: int, change: Any
) -> None:
    give_up(engine, project, end)
    assert api.patch(f"/api/projects/{project.pk}", change).status_code == 200
    stays_down(engine, project)


@pytest.mark.parametrize("wish", ["stop", "suspend"])
def test_a_stopped_agent_is_not_started_by_new_credentials(
    engine: MemoryEngine, project: Project, api: Any, wish: str
) -> None:
    give_up(engine, project, ExitCode.TELEGRAM_TOKEN)
    if wish == "stop":
        api.post(f"/api/projects/{project.pk}/control", {"action": "stop"})
    else:
        Project.objects.update(suspended_at=project.created_at)
    api.patch(f"/api/projects/{project.pk}", TOKEN)
    stays_down(engine, project)


def test_new_credentials_do_not_start_an_agent_after_a_crash_loop(
    engine: MemoryEngine, project: Project, api: Any
) -> None:
    for _ in range(6):
        engine.crash(project.container_name, exit_code=1)
        reconcile()
    api.patch(f"/api/projects/{project.pk}", TOKEN | KEY)
    stays_down(engine, project)


def give_up(engine: MemoryEngine, project: Project, end: int) -> None:
    engine.crash(project.container_name, exit_code=end)
    reconcile()
    project.refresh_from_db()
    assert project.gave_up_at is not None


def stays_down(engine: MemoryEngine, project: Project) -> None:
    reconcile()
    assert not engine.containers[project.container_name].is_up
    assert entry_of(engine, project) is None
