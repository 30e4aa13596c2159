"""A stop uses what the engine listed while it claimed the project, and only where nothing else was under way."""

from typing import Any

import pytest

from containers.engine.lists import Ahead
from containers.vocabulary import Observation
from projects.models import Actor, Project
from projects.rules.status.lifecycle import Action, Operation
from projects.services import control_project
from projects.services.commands.looking_ahead import LookingAhead
from projects.services.operations import claim_stop, time_allowed
from tests.fakes.engine import MemoryEngine

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def test_an_undisturbed_stop_takes_what_was_listed(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Ahead | None] = []
    stop = engine.stop

    def note(key: str, *, timeout: int, ahead: Ahead | None = None) -> Observation | None:
        given.append(ahead)
        return stop(key, timeout=timeout)

    monkeypatch.setattr(engine, "stop", note)
    monkeypatch.setattr(engine, "look_ahead", lambda _: list)
    control_project(project=project, action=Action.STOP, actor=Actor(label="x", source="test"))
    assert given == [list]


def test_what_was_listed_beside_another_operation_is_asked_for_anew(project: Project) -> None:
    """It may have made a container since: it has begun and ended, or is still under way as the stop begins."""
    rival = Project.objects.get(pk=project.pk)
    looking = LookingAhead(project)
    claim = rival.claim(Operation.START, lasting=time_allowed(), renew=False)
    assert claim is not None
    rival.record(claim)
    assert claim_stop(project) is not None
    assert looking.if_undisturbed() is None


def test_what_was_listed_during_another_operation_is_asked_for_anew(project: Project) -> None:
    assert project.claim(Operation.START, lasting=time_allowed(), renew=False) is not None
    looking: Any = LookingAhead(project)
    assert claim_stop(project) is not None
    assert looking.if_undisturbed() is None
