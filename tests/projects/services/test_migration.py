"""A single host's agents move to another engine: a killed move continues, and no agent runs twice."""

from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from accounts import clock
from containers.errors import EngineRefusedError
from projects.models import Actor, Project
from projects.services.staff.migration import Migration
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state, unpack_state
from tests.projects.services.migrating import HELD, check_moved

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """The process ends here."""


def _count(engines: tuple[MemoryEngine, ...], key: str, *, kill_at: int, patch: pytest.MonkeyPatch) -> list[int]:
    """Counts before and after each step of both engines, and kills at one of them."""
    passed = [0]

    def look(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any) -> Any:
            up = [engine for engine in engines for each in engine.containers.values() if each.key == key and each.is_up]
            assert len(up) < 2, "It runs twice."
            passed[0] += 1
            if passed[0] == kill_at:
                raise Killed
            return real(*given)

        return step

    for engine in engines:
        for name in ("_enter", "_step", "_answer"):
            patch.setattr(engine, name, look(getattr(engine, name)))
    return passed


@pytest.fixture
def rehearse(engine: MemoryEngine, former: MemoryEngine, project: Project) -> Callable[[int], Any]:
    """Moves all agents, killed at one step, and again; then undoes it. Returns the number of steps."""

    def move_all() -> None:
        migration = Migration("")
        for move in migration.plan():
            if not move.is_done:
                migration.carry_out(move.project, alive=lambda: None)

    def rehearse(kill_at: int) -> int:
        kept = [deepcopy({name: getattr(each, name) for name in HELD}) for each in (engine, former)]
        with transaction.atomic():
            with pytest.MonkeyPatch.context() as patch:
                passed = _count((engine, former), project.container_key, kill_at=kill_at, patch=patch)
                try:
                    move_all()
                except Killed:
                    Project.objects.exclude(operation="").update(operation_deadline=clock.now() - timedelta(seconds=1))
                    with pytest.MonkeyPatch.context() as again:
                        _count((engine, former), project.container_key, kill_at=-1, patch=again)
                        move_all()
            check_moved(engine, former, project)
            transaction.set_rollback(True)
        for each, held in zip((engine, former), kept, strict=True):
            vars(each).update(deepcopy(held))
        return passed[0]

    return rehearse


@pytest.mark.rare(3)
@pytest.mark.either_database
def test_a_move_killed_at_any_step_resumes_and_no_agent_runs_twice(
    rehearse: Callable[[int], int],
) -> None:
    steps = rehearse(-1)
    assert steps > 10
    for step in range(1, steps + 1):
        rehearse(step)


def test_newer_data_of_an_agent_is_never_overwritten(
    engine: MemoryEngine, former: MemoryEngine, project: Project
) -> None:
    [move] = Migration("").plan()
    Migration("").carry_out(move.project, alive=lambda: None)
    engine.states[f"{project.container_name}-data"] = pack_state({"note": "newer"})
    Migration("").carry_out(Project.objects.get(), alive=lambda: None)
    assert unpack_state([engine.states[f"{project.container_name}-data"]])["note"] == "newer"


def test_an_agent_that_cannot_be_stopped_is_started_nowhere_else(
    engine: MemoryEngine, former: MemoryEngine, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(former, "stop", lambda key, timeout: None)
    with pytest.raises(EngineRefusedError, match="still runs"):
        Migration("").carry_out(project, alive=lambda: None)
    assert engine.containers == {}


def test_a_stopped_agent_moves_without_being_started(
    engine: MemoryEngine, former: MemoryEngine, project: Project
) -> None:
    Project.objects.update(desired="stopped")
    Migration("").carry_out(Project.objects.get(), alive=lambda: None)
    assert (engine.containers, set(engine.states)) == ({}, {f"{project.container_name}-data"})


def test_a_copied_memory_is_copied_again_only_after_a_move_back(
    engine: MemoryEngine, former: MemoryEngine, project: Project
) -> None:
    Project.objects.update(desired="stopped")
    Migration("").carry_out(Project.objects.get(), alive=lambda: None)
    assert Migration("").plan()[0].is_done
    engine.remove(project.container_key, volumes=True)
    assert not Migration("").plan()[0].is_done, "It is gone, and not by its owner."
    project.event(Actor(label="alice", source="a session"), "clear memory", "done").save()
    assert Migration("").plan()[0].is_done
    former.containers[project.container_name].started_at = clock.now() + timedelta(seconds=1)
    assert not Migration("").plan()[0].is_done
