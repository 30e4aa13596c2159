"""A stop uses the list that was prefetched while it claimed the project, unless another operation was under way."""

from typing import Any

import pytest

from accounts import clock
from containers.engine.lists import Prefetch
from containers.outbound.call_limits import seconds_left
from containers.vocabulary import Observation
from projects.errors import ProjectSuspendedError
from projects.models import Actor, Project
from projects.rules.status.lifecycle import Action, Operation
from projects.services import control_project, delete_project
from projects.services.bulkheads import COMMANDS
from projects.services.commands.container_prefetch import ContainerPrefetch
from projects.services.operations import claim_stop, time_allowed
from tests.fakes.engine import MemoryEngine

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

ACTOR = Actor(label="x", source="test")


@pytest.fixture
def looks(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, int]]:
    """For each prefetch: whether it had a deadline, and how many places were taken."""
    seen: list[tuple[bool, int]] = []

    def look(key: str, container_id: str) -> Prefetch:
        seen.append((seconds_left() is not None, COMMANDS.taken))
        return list

    monkeypatch.setattr(engine, "prefetch", look)
    return seen


def test_the_prefetch_has_the_deadline_and_the_place_of_the_command(
    project: Project, looks: list[tuple[bool, int]]
) -> None:
    """Otherwise each command would try an engine that hangs, and wait for it."""
    control_project(project=project, action=Action.STOP, actor=ACTOR)
    assert delete_project(project=project, actor=ACTOR)
    assert looks == [(True, 1)] * 2


def test_a_deletion_that_is_refused_or_recorded_prefetches_nothing(
    project: Project, looks: list[tuple[bool, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.suspended_at = clock.now()
    project.save()
    with pytest.raises(ProjectSuspendedError):
        delete_project(project=project, actor=ACTOR)
    monkeypatch.setattr(COMMANDS, "try_take", lambda _: False)
    assert not delete_project(project=project, actor=ACTOR, by_staff=True)
    assert Project.objects.get(pk=project.pk).desired == "deleted"
    assert looks == []


def test_an_undisturbed_stop_uses_the_prefetched_list(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Prefetch] = []
    stop = engine.stop

    def note(key: str, *, timeout: int, prefetch: Prefetch = list) -> Observation | None:
        given.append(prefetch)
        return stop(key, timeout=timeout)

    monkeypatch.setattr(engine, "stop", note)

    def answer() -> list[Observation]:
        return []

    monkeypatch.setattr(engine, "prefetch", lambda key, container_id: answer)
    control_project(project=project, action=Action.STOP, actor=ACTOR)
    assert given == [answer]


def test_a_list_from_alongside_another_operation_is_discarded(project: Project) -> None:
    """The operation may have created a container since. It has already ended here; below it is still under way."""
    rival = Project.objects.get(pk=project.pk)
    looking = ContainerPrefetch(project)
    claim = rival.claim(Operation.START, lasting=time_allowed(), renew=False)
    assert claim is not None
    rival.record(claim)
    assert claim_stop(project) is not None
    assert looking.if_undisturbed() is list


def test_a_list_from_during_another_operation_is_discarded(project: Project) -> None:
    assert project.claim(Operation.START, lasting=time_allowed(), renew=False) is not None
    looking: Any = ContainerPrefetch(project)
    assert claim_stop(project) is not None
    assert looking.if_undisturbed() is list
