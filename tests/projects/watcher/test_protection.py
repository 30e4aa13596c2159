"""If the agents' firewall is required but not in place, no agent runs, and everyone sees why."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError
from projects.models import Event, Project, Watch
from projects.rules.status.lifecycle import LEASE
from projects.watcher import protection
from projects.watcher import watcher as loop
from projects.watcher.protection import Probe, Protection
from projects.watcher.reconcile.full import reconcile
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

WARNING = "Agents can reach this host and private networks: iptables is not installed here."


@pytest.fixture
def victim(deploy: Callable[..., Project]) -> Project:
    return deploy(name="Victim")


def note(*, bars: bool, lasting: timedelta = LEASE) -> None:
    values = {"bars_agents": bars, "firewall_warning": WARNING * bars, "lease_until": timezone.now() + lasting}
    Watch.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults=values)


def look(*, barred: bool) -> list[str]:
    note(bars=barred)
    Project.objects.update(reconcile_again_at=None)
    return reconcile(barred=barred).repaired


def detail(api: APIClient, project: Project) -> dict[str, Any]:
    answer: dict[str, Any] = api.get(f"/api/projects/{project.pk}").json()
    return answer


STATES: dict[str, Callable[[MemoryEngine, str], object]] = {
    "running": lambda _engine, _name: None,
    "paused": lambda engine, name: engine.pause(name),
    "restarting": lambda engine, name: engine.crash(name, exit_code=3, restarting=True),
    "ended": lambda engine, name: engine.exit(name, 1),
    "gone": lambda engine, name: engine.vanish(name),
}


@pytest.mark.django_db
@pytest.mark.parametrize("state", STATES)
def test_agents_stop_without_the_firewall_and_come_back_with_it(
    victim: Project, engine: MemoryEngine, api: APIClient, state: str
) -> None:
    STATES[state](engine, victim.container_name)
    for _ in range(3):
        look(barred=True)
        assert not any(each.is_up for each in engine.containers.values())
    told = detail(api, victim)
    assert told["status"] == "restarting"
    assert told["status_reason"]["code"] == "firewall_missing"
    stops = Event.objects.filter(project_id=victim.pk, action="stop without firewall", outcome="done").count()
    assert stops == (state in {"running", "paused", "restarting"})
    assert Project.objects.get().crash_count <= 1
    look(barred=False)
    look(barred=False)
    told = detail(api, victim)
    assert (told["status"], told["status_reason"]) == ("running", None)
    assert Project.objects.get().failure_code == ""


@pytest.mark.django_db
@pytest.mark.parametrize("action", ["start", "restart"])
def test_no_command_starts_an_agent_without_the_firewall(
    victim: Project, engine: MemoryEngine, api: APIClient, action: str
) -> None:
    look(barred=True)
    answer = api.post(f"/api/projects/{victim.pk}/control", {"action": action})
    assert answer.status_code == 503
    assert not any(each.is_up for each in engine.containers.values())
    look(barred=True)
    assert detail(api, victim)["status_reason"]["code"] == "firewall_missing"
    look(barred=False)
    assert detail(api, victim)["status"] == "running"


@pytest.mark.django_db
def test_no_agent_is_created_without_the_firewall(victim: Project, engine: MemoryEngine, api: APIClient) -> None:
    note(bars=True)
    answer = api.post("/api/projects", PROJECT | {"name": "Another", "telegramToken": "9:another"})
    assert answer.status_code == 503
    assert [each.key for each in engine.containers.values()] == [victim.container_key]


@pytest.mark.django_db
def test_a_bar_by_a_watcher_that_is_gone_does_not_count(victim: Project, engine: MemoryEngine, api: APIClient) -> None:
    """The engine itself checks the rules before each start."""
    note(bars=True, lasting=timedelta(seconds=-1))
    assert api.post(f"/api/projects/{victim.pk}/control", {"action": "restart"}).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("row", [{"desired": "stopped"}, {"suspended_at": timezone.now()}, {"desired": "deleted"}])
def test_an_agent_that_should_be_down_keeps_its_own_reason(
    victim: Project, engine: MemoryEngine, row: dict[str, Any]
) -> None:
    later(victim, **row)
    look(barred=True)
    assert not any(each.is_up for each in engine.containers.values())
    assert not Event.objects.filter(action="stop without firewall").exists()
    assert not Project.objects.exclude(failure_code="").exists()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.02)
    for name in ("FIREWALL_EVERY", "PROBE_FIRST", "PROBE_EVERY", "PROBE_AGAIN"):
        monkeypatch.setattr(protection, name, 0.0)
    with watchers_in_threads() as start:
        yield start


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("dial", ["firewall_warning", "probe_warning"])
@pytest.mark.parametrize("is_required", [True, False])
def test_the_watcher_stops_agents_only_where_the_firewall_is_required(
    victim: Project, engine: MemoryEngine, watch: Any, dial: str, is_required: bool, caplog: pytest.LogCaptureFixture
) -> None:
    engine.firewall_required = is_required
    setattr(engine, dial, WARNING)
    watch()
    wait_until(lambda: Watch.objects.filter(firewall_warning=WARNING, bars_agents=is_required).exists(), within=60)

    def is_up() -> bool:
        return any(each.is_up for each in list(engine.containers.values()))

    wait_until(lambda: is_up() != is_required, within=60)
    setattr(engine, dial, None)
    wait_until(lambda: Watch.objects.filter(firewall_warning="", bars_agents=False).exists(), within=60)
    wait_until(lambda: is_up() and Project.objects.get().failure_code == "", within=60)
    assert WARNING in caplog.text
    assert ("No agent runs until then." in caplog.text) == is_required


def test_one_probe_that_was_not_refused_proves_nothing(engine: MemoryEngine) -> None:
    probe = Probe()
    said = []
    for warning in (WARNING, None, WARNING, WARNING, None):
        engine.probe_warning = warning
        probe._run()
        said.append(probe.warning)
    assert said == [None, None, None, WARNING, None]


def test_a_probe_that_fails_changes_nothing(engine: MemoryEngine) -> None:
    probe = Probe()
    engine.probe_warning = WARNING
    probe._run()
    probe._run()
    engine.fail("probe_firewall", EngineRefusedError)
    probe._run()
    engine.fail("probe_firewall", RuntimeError("a bug"))
    probe._run()
    assert probe.warning == WARNING


@pytest.mark.django_db
def test_a_probe_holds_up_no_look(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protection, "FIREWALL_EVERY", 0.0)
    monkeypatch.setattr(protection, "PROBE_FIRST", 0.0)
    goes_on = threading.Event()
    engine.slow("probe_firewall", goes_on)
    guard = Protection()
    for _ in range(3):
        guard.step()
    assert engine.calls.count(("ensure_firewall", "")) == 3
    wait_until(lambda: ("probe_firewall", "") in engine.calls)
    goes_on.set()
    guard.stop()
    assert engine.calls.count(("probe_firewall", "")) == 1
