"""Commands record what they do. The watcher reacts at once only to events that no command caused."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from containers.vocabulary import EngineEvent
from projects.models import Project, Watch
from projects.models.event import SYSTEM
from projects.models.rows.watched import RecordedRun
from projects.rules.status.lifecycle import Action
from projects.services import control_project
from projects.watcher import watcher as loop
from projects.watcher.ends.run_ends import End, RunEnds
from projects.watcher.reconcile import expected_events
from projects.watcher.reconcile.changed import look_at
from projects.watcher.reconcile.changed_keys import EXPECTED_AFTER, ChangedKeys
from projects.watcher.reconcile.expected_events import ExpectedEvents, is_recorded
from projects.watcher.reconcile.round import Round
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def event(action: str, container_id: str = "c") -> EngineEvent:
    return EngineEvent(key="k", action=action, at=NOW, container_id=container_id)


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["create", "start"], [False, True]),
        (["start", "kill", "die", "stop"], [True, False, True, True]),
        (["start", "die"], [True, False]),  # a crash the engine starts it again docker restart
        (["start", "oom", "die", "start", "die"], [True, False, False, True, False]),  # the engine starts it again
        (["start", "kill", "die", "stop", "start", "die"], [True, False, True, True, False, False]),  # docker restart
        (["kill", "destroy", "die"], [False, False, False]),
        (["pause", "update", "rename"], [False, False, False]),
    ],
    ids=str,
)
def test_only_new_containers_and_signalled_ones_are_left_to_commands(actions: list[str], expected: list[bool]) -> None:
    events = ExpectedEvents()
    assert [events.is_expected(event(action)) for action in actions] == expected


def test_a_signal_to_another_container_explains_nothing() -> None:
    events = ExpectedEvents()
    events.is_expected(event("kill", "other"))
    assert not events.is_expected(event("die"))


def test_signals_of_only_so_many_containers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_events, "MOST", 2)
    events = ExpectedEvents()
    for name in "abc":
        events.is_expected(event("kill", name))
    assert [events.is_expected(event("die", name)) for name in "abc"] == [False, True, True]


def seconds(number: float) -> datetime:
    return NOW + timedelta(seconds=number)


UP = RecordedRun("c", "running", seconds(10), None)
DOWN = RecordedRun("c", "exited", seconds(10), seconds(20))
ENDED = End(began_at=seconds(10.1), at=seconds(20.1), exit_code=0, oom_killed=False, is_present=True)
EARLIER = replace(ENDED, began_at=seconds(1), at=seconds(5), is_present=False)


@pytest.mark.parametrize(
    ("run", "end", "recorded"),
    [
        (UP, None, True),
        (UP, EARLIER, True),
        (UP, ENDED, False),
        (UP._replace(started_at=None), EARLIER, False),
        (UP._replace(container_id="other"), None, False),
        (UP._replace(container_state="restarting"), None, False),
        (DOWN, ENDED, True),
        (DOWN, None, False),
        (DOWN, replace(ENDED, is_present=False), False),  # it was started since
        (DOWN, replace(ENDED, began_at=None), False),
        (DOWN, replace(ENDED, began_at=seconds(30), at=seconds(40)), False),  # this is the end of a later run
        (DOWN._replace(finished_at=None), ENDED, False),
        (DOWN._replace(container_id=""), ENDED, False),
    ],
)
def test_a_row_is_up_to_date_only_if_it_shows_the_last_start_or_end(
    run: RecordedRun, end: End | None, *, recorded: bool
) -> None:
    assert is_recorded(run, "c", end) is recorded


def take(changed: ChangedKeys) -> tuple[set[str], dict[str, str]]:
    with changed.taking() as (keys, expected):
        return keys, dict(expected)


def test_an_expected_event_is_due_a_little_later_and_others_at_once() -> None:
    changed = ChangedKeys()
    began = time.monotonic()
    changed.hear(event("start"))
    assert not changed.wait(0.0)
    while not changed.wait(60.0):
        pass
    assert time.monotonic() - began >= EXPECTED_AFTER
    assert take(changed) == ({"k"}, {"k": "c"})
    assert len(changed) == 0
    changed.hear(event("start"))
    changed.hear(event("die"))
    assert changed.wait(0.0)
    assert take(changed) == ({"k"}, {})  # no command caused the end


def test_more_expected_events_do_not_defer_the_look() -> None:
    changed = ChangedKeys()
    until = time.monotonic() + 60.0
    while not changed.wait(EXPECTED_AFTER / 10) and time.monotonic() < until:
        changed.hear(event("start"))
    assert time.monotonic() < until
    assert take(changed) == ({"k"}, {"k": "c"})


def test_expected_events_are_kept_after_a_failure_and_ignored_by_a_watcher_that_does_not_lead() -> None:
    changed = ChangedKeys()
    changed.hear(event("start"))
    with pytest.raises(ValueError, match="broken"), changed.taking():
        raise ValueError("broken")
    assert take(changed)[0] == {"k"}
    changed.hear(event("start"))
    changed.ignore(all_that_comes=True)
    changed.hear(event("start"))
    assert take(changed) == (set(), {})


@pytest.mark.django_db
def test_a_recorded_stop_is_not_looked_at_again_and_any_other_end_is(
    victim: Project, engine: MemoryEngine, ends: RunEnds, listen: Callable[[], None]
) -> None:
    listen()
    container = engine.containers[victim.container_name]
    expected = {victim.container_key: container.container_id}
    control_project(project=victim, action=Action.STOP, actor=SYSTEM)
    listen()
    engine.calls.clear()
    look_at(expected, ends, expected=expected)
    assert engine.calls == []
    look_at(expected, ends)  # for another reason
    assert engine.calls != []
    later(victim, container_state="running", finished_at=None, desired="running")
    engine.calls.clear()
    look_at(expected, ends, expected=expected)
    assert engine.calls != []


@pytest.fixture
def watch() -> Iterator[Callable[[], Watcher]]:
    with watchers_in_threads() as start:
        yield start


@pytest.mark.django_db(transaction=True)
def test_the_watcher_knows_a_stop_by_a_command_from_a_start_by_hand(
    deploy: Callable[..., Project], watch: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[dict[str, str]] = []

    def look(*arguments: Any, expected: dict[str, str], **options: Any) -> Round:
        looks.append(dict(expected))
        return look_at(*arguments, expected=expected, **options)

    monkeypatch.setattr(loop, "LOOK_EVERY", 3600)
    monkeypatch.setattr(loop, "look_at", look)
    project = deploy()
    watch()
    wait_until(lambda: Watch.objects.values_list("heartbeat_at", flat=True).first() is not None)
    wait_until(lambda: ("events", "") in engine.calls)
    control_project(project=project, action=Action.STOP, actor=SYSTEM)
    container = engine.containers[project.container_name]
    wait_until(lambda: {project.container_key: container.container_id} in looks)
    engine._start(container)
    wait_until(lambda: not container.is_up)
