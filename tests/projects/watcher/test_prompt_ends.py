"""Agents that have ended according to an event, before the engine answers about them."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.rules.status.lifecycle import Action, Desired
from projects.services import control_project
from projects.watcher.ends.prompt_recording import record_ends
from projects.watcher.ends.run_ends import RunEnds
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import look, statuses
from tests.projects.watcher.rows import later
from tests.projects.watcher.slow_ends import be_down, go_down

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def test_an_end_is_shown_before_the_engine_answers_and_counted_after_it(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    api: APIClient,
) -> None:
    for exit_code in (1, 20, 137):
        before = Event.objects.filter(action="crash").count()
        go_down(engine, victim, exit_code=exit_code)
        listen()
        engine.calls.clear()
        for _ in range(2):
            record_ends({victim.container_key, others[0].container_key, "none", ""}, ends.find)
        assert engine.calls == []
        told = "crashed" if exit_code == 20 else "restarting"  # it says that another start is useless
        assert statuses(api) == {str(victim.pk): told, **{str(each.pk): "running" for each in others}}
        assert Event.objects.filter(action="crash").count() == before
        be_down(engine, victim.container_name)
        for _ in range(2):
            look(changed_keys=ends.keys_of_ended(), find_end=ends.find)
        assert Event.objects.filter(action="crash").count() == before + 1
        control_project(project=Project.objects.get(pk=victim.pk), action=Action.START, actor=SYSTEM)
        listen()


@pytest.mark.parametrize("held", [{"desired": Desired.STOPPED}, {"suspended_at": timezone.now()}], ids=str)
def test_no_end_is_recorded_for_an_agent_that_should_not_run(
    victim: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None], held: dict[str, object]
) -> None:
    go_down(engine, victim)
    listen()
    later(victim, **held)
    record_ends({victim.container_key}, ends.find)
    assert Project.objects.get(pk=victim.pk).container_state == "running"
