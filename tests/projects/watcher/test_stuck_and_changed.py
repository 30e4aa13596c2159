"""Containers of which the engine does not say how they are, and those that somebody has renamed, copied or moved."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import ContainerSilentError
from containers.vocabulary import Health
from projects.models import Event, Project, Watch
from projects.models.reconciliation import LONGEST_SILENCE
from projects.watcher.reconcile import reconcile
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_container import MemoryContainer
from tests.projects.watcher.rows import later

pytestmark = pytest.mark.django_db


@pytest.fixture
def victim(deploy: Callable[..., Project]) -> Project:
    return deploy(name="Victim")


@pytest.fixture
def others(deploy: Callable[..., Project], victim: Project) -> list[Project]:
    return [deploy(telegramToken=f"{number}:another") for number in (7, 8)]


def grow_old() -> None:
    """What was seen before counts no more; the watcher's heartbeat does."""
    long_ago = timezone.now() - timedelta(minutes=1)
    Project.objects.update(observed_at=long_ago, updated_at=long_ago)
    Watch.objects.all().delete()


def look(**options: Any) -> list[str]:
    """A round with its heartbeat. Returns what failed."""
    grow_old()
    result = reconcile(**options)
    Watch.objects.create(instance="berth", heartbeat_at=result.at, lease_until=result.at + timedelta(minutes=1))
    return result.failed


def statuses(api: APIClient) -> dict[str, str]:
    return {each["id"]: each["status"] for each in api.get("/api/projects").json()}


@pytest.mark.parametrize("health", [Health.NONE, Health.STARTING, Health.HEALTHY, Health.UNHEALTHY])
@pytest.mark.parametrize("is_told", [False, True])
def test_a_container_for_which_the_engine_is_stuck_is_unknown_and_the_round_goes_on(
    victim: Project, others: list[Project], engine: MemoryEngine, api: APIClient, health: Health, is_told: bool
) -> None:
    engine.set_health(victim.container_name, health)
    engine.silence_container(victim.container_name)
    for each in others:
        engine.exit(each.container_name, exit_code=1)
    keys = [victim.container_key] if is_told else []
    assert len(look(changed_keys=keys)) == 1
    assert all(engine.containers[each.container_name].is_up for each in others)
    look()
    known = statuses(api)
    assert known.pop(str(victim.pk)) == "unknown"
    assert set(known.values()) == {"running"}
    assert api.get(f"/api/projects/{victim.pk}").json()["status"] == "unknown"
    engine.silence_container(victim.container_name, is_silent=False)
    engine.set_health(victim.container_name, Health.HEALTHY)
    later(victim, reconcile_again_at=timezone.now())
    assert look() == []
    assert set(statuses(api).values()) == {"running"}
    assert engine.calls.count(("stop", victim.container_key)) == 0


def test_it_is_unknown_without_a_watcher_too(
    victim: Project, others: list[Project], engine: MemoryEngine, api: APIClient
) -> None:
    engine.silence_container(victim.container_name)
    grow_old()
    known = statuses(api)
    assert known.pop(str(victim.pk)) == "unknown"
    assert set(known.values()) == {"running"}


def test_a_project_alone_in_the_world_ends_no_round_either(victim: Project, engine: MemoryEngine) -> None:
    engine.silence_container(victim.container_name)
    assert len(look()) == 1
    assert len(look(changed_keys=[victim.container_key])) == 0  # it is skipped for a while
    later(victim, reconcile_failures=40, reconcile_again_at=None)
    look()
    assert Project.objects.get().reconcile_again_at <= timezone.now() + LONGEST_SILENCE  # type: ignore[operator]
    assert Project.objects.get().reconcile_error == ContainerSilentError.__name__


def test_an_orphan_for_which_the_engine_is_stuck_holds_nobody_up(victim: Project, engine: MemoryEngine) -> None:
    labels = {
        **engine.containers[victim.container_name].labels,
        "berth.project": "0" * 8 + "-0000-4000-8000-" + "0" * 12,
    }
    orphan = engine.foreign("orphan", labels=labels)
    orphan.created_at -= timedelta(hours=1)
    Event.objects.create(
        project_id=labels["berth.project"], owner_id=victim.owner_id, actor="x", action="delete", outcome="done"
    )
    engine.silence_container("orphan")
    assert look() == []
    assert "orphan" in engine.containers
    engine.silence_container("orphan", is_silent=False)
    assert look() == []
    assert "orphan" not in engine.containers


def rename(engine: MemoryEngine, project: Project) -> str:
    container = engine.containers.pop(project.container_name)
    container.name = f"renamed-{container.name}"
    engine.containers[container.name] = container
    return container.name


COMMANDS: dict[str, tuple[str, bool]] = {
    "start": ("running", True),
    "stop": ("stopped", False),
    "restart": ("running", True),
}
WAYS: dict[str, Callable[[MemoryEngine, str], object]] = {
    "running": lambda _engine, _name: None,
    "stopped": lambda engine, name: engine.exit(name, 0),
    "crashed": lambda engine, name: engine.crash(name, exit_code=3),
    "restarting": lambda engine, name: engine.crash(name, exit_code=3, restarting=True),
    "paused": lambda engine, name: engine.pause(name),
}


@pytest.mark.parametrize("action", COMMANDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("copies", [0, 1])
def test_a_renamed_container_is_commanded_like_any_other(
    victim: Project, engine: MemoryEngine, api: APIClient, action: str, way: str, copies: int
) -> None:
    """Also where somebody has made another one with its labels."""
    name = rename(engine, victim)
    WAYS[way](engine, name)
    for number in range(copies):
        engine.foreign(f"copy-{number}", labels=engine.containers[name].labels).health = Health.HEALTHY
    if way == "stopped":
        later(victim, desired="stopped", container_state="exited")
    status, is_up = COMMANDS[action]
    answer = api.post(f"/api/projects/{victim.pk}/control", {"action": action})
    assert answer.status_code == 200
    if action != "start":  # a start has nothing to do where the agent is up, and the watcher has
        assert answer.json()["status"] == status
    look()
    look()
    ours = [each for each in engine.containers.values() if each.key == victim.container_key]
    assert [each.is_up for each in ours if each.is_up] == [True] * is_up
    assert statuses(api)[str(victim.pk)] == status


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("copies", [0, 1])
def test_a_renamed_container_is_deleted_like_any_other(
    victim: Project, engine: MemoryEngine, api: APIClient, way: str, copies: int
) -> None:
    name = rename(engine, victim)
    WAYS[way](engine, name)
    for number in range(copies):
        engine.foreign(f"copy-{number}", labels=engine.containers[name].labels)
    assert api.delete(f"/api/projects/{victim.pk}").status_code == 204
    assert (engine.containers, engine.volumes) == ({}, set())


def up(engine: MemoryEngine) -> list[MemoryContainer]:
    return [each for each in engine.containers.values() if each.is_up]


def test_of_two_that_run_for_one_project_the_watcher_leaves_one(
    victim: Project, engine: MemoryEngine, api: APIClient
) -> None:
    copy = engine.foreign("copy", labels=engine.containers[victim.container_name].labels)
    copy.health = Health.HEALTHY
    assert look() == []
    assert look() == []
    assert [each.key for each in up(engine)] == [victim.container_key]
    assert copy not in up(engine)
    assert statuses(api) == {str(victim.pk): "running"}


def test_agents_with_each_others_names_are_told_apart(
    victim: Project, others: list[Project], engine: MemoryEngine, api: APIClient
) -> None:
    one, other = engine.containers[victim.container_name], engine.containers[others[0].container_name]
    one.name, other.name = other.name, one.name
    engine.containers |= {one.name: one, other.name: other}
    for project in (victim, others[0]):
        assert api.post(f"/api/projects/{project.pk}/control", {"action": "restart"}).status_code == 200
    assert look() == []
    assert sorted(each.key for each in up(engine)) == sorted(each.container_key for each in (victim, *others))
    assert {name: each.name for name, each in engine.containers.items()} == {name: name for name in engine.containers}


@pytest.mark.parametrize("way", [way for way in WAYS if way in {"running", "stopped"}])
def test_what_somebody_changed_of_a_container_is_changed_back(victim: Project, engine: MemoryEngine, way: str) -> None:
    """The agent goes on, and the history says that it was done."""
    container = engine.containers[victim.container_name]
    WAYS[way](engine, victim.container_name)
    if way == "stopped":
        later(victim, desired="stopped", container_state="exited")
    engine.drift(victim.container_name)
    assert look() == []
    assert not container.has_drifted
    assert engine.containers[victim.container_name] is container
    assert Event.objects.filter(project_id=victim.pk, action="realign", outcome="done").count() == 1
    assert look() == []
    assert engine.calls.count(("realign", victim.container_key)) == 1


def test_a_container_that_was_moved_while_it_was_down_is_moved_back_before_it_starts(
    victim: Project, engine: MemoryEngine
) -> None:
    engine.exit(victim.container_name, exit_code=1)
    engine.drift(victim.container_name)
    assert look() == []
    container = engine.containers[victim.container_name]
    assert container.is_up
    assert not container.has_drifted
