"""How a run ended is kept, although the engine starts the agent again at once and Berth stops it later."""

import itertools
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.agent_contract import PROBLEMS_OF_EXIT, STATUS_MARK
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.rules.status.lifecycle import CRASH_LIMIT, Action
from projects.rules.status.reasons import code_of_end
from projects.services import control_project
from projects.services.observation import refresh
from projects.watcher.ends import crashes as crash_ends
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.sampling import Some

pytestmark = pytest.mark.one_database

EXITS = [0, 1, 2, 137, 143, *map(int, PROBLEMS_OF_EXIT)]


def crash(engine: MemoryEngine, name: str, *, exit_code: int, oom: bool, code: str) -> None:
    """A run ends, and the engine starts the next one before anyone looks. That one reports that all is well."""
    container = engine.containers[name]
    engine.log(name, f"{STATUS_MARK}{json.dumps({'v': 1, 'state': 'failed', 'code': code})}")
    engine.crash(name, exit_code=exit_code, oom=oom, restarting=True)
    engine.restart_once_more(name)
    engine.log(name, f"{STATUS_MARK}{json.dumps({'v': 1, 'state': 'running'})}")
    assert container.exit_code is None


WORDS = ["provider_key", "bad_configuration", "memory_unreadable", "an invented one"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("code", WORDS)
def test_every_end_is_explained_correctly_after_any_later_action(
    code: str,
    some: Some,
    project: Project,
    engine: MemoryEngine,
    ends: RunEnds,
    listen: Callable[[], None],
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit codes, with and without memory that ran out, and then Berth's stop after the fifth.

    A run takes half of them for each report of an agent; `--whole` takes each.
    """
    monkeypatch.setattr(crash_ends, "LATE", timedelta(0))  # nothing more is reported
    name = project.container_name
    for exit_code, oom in some(itertools.product(EXITS, [False, True]), one_in=2, first=WORDS.index(code)):
        expected = code_of_end(exit_code, agent_code=code, oom_killed=oom)
        Event.objects.all().delete()
        Project.objects.update(crash_count=CRASH_LIMIT - 1, crashes_since=timezone.now())
        listen()
        crash(engine, name, exit_code=exit_code, oom=oom, code=code)
        listen()
        reconcile(find_end=ends.find)
        assert Event.objects.get(action="crash").outcome == expected, (exit_code, oom)
        assert engine.containers[name].exit_code == 0  # of the run that Berth stopped
        for _ in range(2):
            reason = api.get(f"/api/projects/{project.pk}").json()["status_reason"]
            assert (reason["code"], reason["exit_code"], reason["oom_killed"]) == (expected, exit_code, oom)
            reconcile(find_end=ends.find)
        control_project(project=Project.objects.get(), action=Action.START, actor=SYSTEM)
        assert Project.objects.get().ended_at is None


def test_an_end_that_is_yet_to_be_heard_of_is_waited_for(
    project: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None]
) -> None:
    crash(engine, project.container_name, exit_code=30, oom=False, code="")
    reconcile(find_end=ends.find)
    assert not Event.objects.filter(action="crash").exists()
    listen()
    reconcile(find_end=ends.find)
    assert Event.objects.get(action="crash").outcome == "provider_key"


def test_an_end_without_an_event_is_explained_as_unknown(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, api: APIClient
) -> None:
    """It is neither the exit of the run that Berth stopped, nor an `exit None`."""
    monkeypatch.setattr(crash_ends, "HEARD_WITHIN", timedelta(0))
    for _ in range(5):
        crash(engine, project.container_name, exit_code=1, oom=False, code="")
        reconcile()
    assert set(Event.objects.filter(action="crash").values_list("outcome", flat=True)) == {"crash_unseen"}
    reason = api.get(f"/api/projects/{project.pk}").json()["status_reason"]
    assert (reason["code"], reason["exit_code"]) == ("crash_unseen", None)


@pytest.mark.parametrize("heard_at", ["before the look", "after the look"])
def test_memory_that_ran_out_is_no_kill_from_outside(
    heard_at: str, project: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None]
) -> None:
    """Under load the engine's own record lacks it, because the kernel reported it too late."""
    for _ in range(5):
        listen()
        engine.crash(project.container_name, exit_code=137)
        if heard_at == "before the look":
            engine.tell_of_memory(project.container_name)
            listen()
        reconcile(find_end=ends.find, hand_over=lambda project, act: None)
        if heard_at == "after the look":
            engine.tell_of_memory(project.container_name)
            listen()
            reconcile(find_end=ends.find, hand_over=lambda project, act: None)
        found = Project.objects.get()
        assert found.oom_killed
        reconcile(find_end=ends.find)
    refreshed = Project.objects.get()
    refresh([refreshed])
    assert refreshed.reason is not None
    assert refreshed.reason.code == "out_of_memory"
    reconcile()  # by a watcher that has received nothing
    assert Project.objects.get().oom_killed


def test_containers_held_by_an_operation_are_not_inspected(deploy: Any, engine: MemoryEngine) -> None:
    """The engine does not answer about a container that it is just starting, and would delay the round."""
    busy, other = deploy(name="Busy"), deploy(name="Other", telegramToken="7:another")
    for each in (busy, other):
        engine.crash(each.container_name, exit_code=1)
    seen = []
    observe = engine.observe

    def note(*args: Any, **options: Any) -> Any:
        seen.append(options.get("briefly"))
        return observe(*args, **options)

    engine.observe = note  # type: ignore[method-assign]  # the real one takes its place again below
    try:
        claim = busy.claim("stop", lasting=timedelta(seconds=30))
        assert claim is not None
        reconcile()
    finally:
        del engine.observe
    assert seen[0] == {busy.container_key}
    assert Project.objects.get(pk=other.pk).crash_count == 1
    assert Project.objects.get(pk=busy.pk).crash_count == 0
