"""Containers that someone has renamed, copied or moved."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from containers.errors import AlteredError
from containers.vocabulary import Health
from projects.models import Event, Project
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_container import MemoryContainer
from tests.projects.watcher.looking import look, statuses
from tests.projects.watcher.rows import later

pytestmark = pytest.mark.django_db


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
    """Even if someone has created another one with its labels."""
    name = rename(engine, victim)
    WAYS[way](engine, name)
    for number in range(copies):
        engine.foreign(f"copy-{number}", labels=engine.containers[name].labels).health = Health.HEALTHY
    if way == "stopped":
        later(victim, desired="stopped", container_state="exited")
    status, is_up = COMMANDS[action]
    answer = api.post(f"/api/projects/{victim.pk}/control", {"action": action})
    assert answer.status_code == 200
    if action != "start":  # a start has nothing to do if the agent is up, and the watcher has
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


def test_the_watcher_leaves_one_of_two_running_containers_of_a_project(
    victim: Project, engine: MemoryEngine, api: APIClient
) -> None:
    copy = engine.foreign("copy", labels=engine.containers[victim.container_name].labels)
    copy.health = Health.HEALTHY
    assert look() == []
    assert look() == []
    assert [each.key for each in up(engine)] == [victim.container_key]
    assert copy not in up(engine)
    assert statuses(api) == {str(victim.pk): "running"}


def test_agents_with_swapped_names_are_distinguished(
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
def test_manual_changes_of_a_container_are_reverted(victim: Project, engine: MemoryEngine, way: str) -> None:
    """The agent keeps running, and the history shows the repair."""
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


def test_a_change_that_was_reverted_meanwhile_is_not_reported(
    victim: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.drift(victim.container_name)
    monkeypatch.setattr(engine, "realign", lambda _: [])
    assert look() == []
    assert not Event.objects.filter(project_id=victim.pk, action="realign").exists()


def test_a_stopped_container_moved_to_another_network_is_moved_back_before_its_start(
    victim: Project, engine: MemoryEngine
) -> None:
    engine.exit(victim.container_name, exit_code=1)
    engine.drift(victim.container_name)
    assert look() == []
    container = engine.containers[victim.container_name]
    assert container.is_up
    assert not container.has_drifted


@pytest.mark.parametrize("desired", ["running", "stopped"])
def test_an_irreversible_change_recreates_a_container_that_should_run(
    victim: Project, engine: MemoryEngine, desired: str
) -> None:
    before = engine.containers[victim.container_name]
    if desired == "stopped":
        engine.exit(victim.container_name, exit_code=0)
        later(victim, desired="stopped", container_state="exited")
    engine.drift(victim.container_name)
    engine.fail("realign", AlteredError())
    assert len(look()) == (desired == "stopped")
    now = engine.containers[victim.container_name]
    assert (now is before, now.is_up) == (desired == "stopped", desired == "running")
    assert Event.objects.filter(project_id=victim.pk, action="realign").count() == (desired == "running")


@pytest.mark.parametrize("way", ["stopped", "crashed"])
def test_a_copy_that_does_not_run_is_removed_at_once(
    victim: Project, engine: MemoryEngine, api: APIClient, way: str
) -> None:
    """Otherwise it would stay until the next start, and every round would inspect the agent because of it."""
    engine.foreign("copy", labels=engine.containers[victim.container_name].labels)
    WAYS[way](engine, "copy")
    look()
    assert set(engine.containers) == {victim.container_name}
    assert statuses(api) == {str(victim.pk): "running"}
    assert [event.action for event in Event.objects.filter(actor="system")] == ["realign"]
