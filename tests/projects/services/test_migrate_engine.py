"""The command that moves a single host's agents reports all obstacles before it changes anything."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from accounts import clock
from containers.errors import EngineRefusedError
from projects.models import Project
from projects.services.staff.migration import Migration
from projects.watcher.leader import become_leader, step_down
from tests.fakes.engine import MemoryEngine
from tests.projects.services.migrating import FakeArrivals, check_moved

pytestmark = pytest.mark.django_db


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Runs the command."""

    def run(*more: str) -> None:
        call_command("migrate_engine", "--from", "unix:///nowhere", "--yes", *more)

    monkeypatch.setattr("projects.management.commands.migrate_engine.free_here", lambda _: 1 << 40)
    with override_settings(BERTH_ENGINE="swarm"):
        yield run


def test_the_command_moves_all_and_has_nothing_to_do_then(
    move: Callable[..., None], engine: MemoryEngine, former: MemoryEngine, project: Project, capsys: Any
) -> None:
    move("--dry-run")
    assert (engine.containers, f"{project.id}: stop, copy, start" in capsys.readouterr().out) == ({}, True)
    move()
    check_moved(engine, former, project)
    assert "1 of 1" in capsys.readouterr().out
    move()
    assert f"{project.id}: has moved" in capsys.readouterr().out


def test_without_a_terminal_to_confirm_nothing_is_moved(
    move: Callable[..., None], former: MemoryEngine, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    with pytest.raises(CommandError, match="Nothing was done"):
        call_command("migrate_engine", "--from", "unix:///nowhere")
    assert former.containers[project.container_name].is_up


def _no_image(engine: MemoryEngine, former: MemoryEngine) -> None:
    engine.images.clear()


def _other_host(engine: MemoryEngine, former: MemoryEngine) -> None:
    former.reset()


def _same_host(engine: MemoryEngine, former: MemoryEngine) -> None:
    engine.volumes, engine.volume_labels = former.volumes, former.volume_labels
    engine.volumes_since = former.volumes_since


def _old_user(engine: MemoryEngine, former: MemoryEngine) -> None:
    Project.objects.update(uid=None)


def _busy(engine: MemoryEngine, former: MemoryEngine) -> None:
    Project.objects.update(
        operation="start", operation_id=Project.objects.get().pk, operation_deadline=clock.now() + timedelta(seconds=9)
    )


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (_no_image, "does not have its image"),
        (_other_host, "names another one"),
        (_same_host, "the manager that DOCKER_HOST names"),
        (_old_user, "Restart it on the former host"),
        (_busy, "under way"),
    ],
)
def test_obstacles_are_reported_before_anything_changes(
    move: Callable[..., None], engine: MemoryEngine, former: MemoryEngine, project: Project, fault: Any, told: str
) -> None:
    fault(engine, former)
    before = {name: each.state for name, each in former.containers.items()}
    with pytest.raises(CommandError, match=told) as refused:
        move()
    assert "Nothing was changed." in str(refused.value)
    assert ({name: each.state for name, each in former.containers.items()}, engine.containers) == (before, {})


def test_the_move_is_refused_while_a_watcher_leads_or_without_room_or_a_swarm(
    move: Callable[..., None], former: MemoryEngine, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert become_leader("somebody")
    with pytest.raises(CommandError, match="Stop Berth"):
        move()
    step_down("somebody")
    monkeypatch.setattr("projects.management.commands.migrate_engine.free_here", lambda _: 1)
    with pytest.raises(CommandError, match="0 MB left"):
        move()
    with override_settings(BERTH_ENGINE="docker"), pytest.raises(CommandError, match="BERTH_ENGINE=swarm"):
        move()
    assert former.containers[project.container_name].is_up


def test_an_agent_whose_start_is_refused_is_reported_and_started_by_the_next_run(
    move: Callable[..., None], engine: MemoryEngine, former: MemoryEngine, project: Project, capsys: Any
) -> None:
    engine.fail("deploy", EngineRefusedError("The disk of the node is full."))
    with pytest.raises(CommandError, match="1 agents are DOWN") as told:
        move()
    assert f"{project.id}: The disk of the node is full." in str(told.value)
    move()
    check_moved(engine, former, project)


def test_all_projects_wait_during_the_move_and_moved_ones_no_longer(
    move: Callable[..., None], engine: MemoryEngine, former: MemoryEngine, project: Project
) -> None:
    former.fail("stop", EngineRefusedError("It does not stop."))
    with pytest.raises(CommandError, match="may be DOWN"):
        move()
    assert FakeArrivals.awaited == {project.container_key}
    former.remove(project.container_key, volumes=True)
    Migration("").carry_out(project, alive=lambda: None)
    assert FakeArrivals.awaited == set()
