"""While a round waits for the engine's list, the engine's events vouch for the rows: nothing is unknown meanwhile."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.vocabulary import EngineEvent
from projects.models import Event, Project, Watch
from projects.watcher.ends.ends import Ends
from projects.watcher.leader import become_leader
from projects.watcher.reconcile.vouching import LONGEST, OVERDUE, Vouching
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.looking import grow_old, statuses
from tests.projects.watcher.slow_ends import go_down

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

AGO = OVERDUE + 3.0
"""Seconds since the beginning of the last round that has beaten: what it saw counts no more."""


@pytest.fixture
def vouching(victim: Project, others: list[Project], ends: Ends, engine: MemoryEngine) -> Vouching:
    """All are well, by a round some time ago; the next one waits for a list, as does who asks the engine itself."""
    made = Vouching("one", ends)
    grow_old()
    become_leader("one")
    Watch.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=AGO))
    made._whole_since = 0.0
    made.note_round(time.monotonic() - AGO)
    for each in (victim, *others):
        engine.silence_container(each.container_name)
    return made


def tell(made: Vouching, ends: Ends, project: Project | None, action: str = "die", *, ago: float = 0.0) -> None:
    """The engine tells of it. Some other thing happens where it is no project's."""
    event = EngineEvent(
        key=project.container_key if project else "",
        action=action,
        at=datetime.now(UTC) - timedelta(seconds=ago),
        container_id=project.container_id if project else "",
        exit_code=1 if action == "die" else None,
    )
    ends.note(event)
    made.hear(event)


def beaten_ago() -> float:
    heartbeat = Watch.objects.get().heartbeat_at
    assert heartbeat is not None
    return (timezone.now() - heartbeat).total_seconds()


def test_nothing_is_unknown_while_the_engine_tells_of_a_wave(
    vouching: Vouching, victim: Project, others: list[Project], ends: Ends, engine: MemoryEngine, api: APIClient
) -> None:
    assert set(statuses(api).values()) == {"unknown"}
    tell(vouching, ends, others[0], "kill", ago=0.2)
    go_down(engine, victim)
    tell(vouching, ends, victim)
    vouching.step()
    engine.calls.clear()
    well = {str(each.pk): "running" for each in others}
    assert statuses(api) == {str(victim.pk): "restarting", **well}
    assert engine.calls == []  # so that nobody waits for it
    assert not Event.objects.filter(action="crash").exists()
    tell(vouching, ends, victim, "start")
    vouching.step()
    assert statuses(api) == {str(victim.pk): "starting", **well}


def pause(made: Vouching, ends: Ends, project: Project) -> None:
    tell(made, ends, project, "pause")


def pause_before_the_round_beats(made: Vouching, ends: Ends, project: Project) -> None:
    tell(made, ends, project, "pause")
    made.note_round(time.monotonic() - AGO)


def miss_some(made: Vouching, ends: Ends, project: Project) -> None:
    made.note_gap(is_broken=False)
    made.note_open()
    made.note_round(time.monotonic() - AGO)


def beat_in_time(made: Vouching, ends: Ends, project: Project) -> None:
    made.note_round(time.monotonic())


def take_too_long(made: Vouching, ends: Ends, project: Project) -> None:
    made.note_round(time.monotonic() - LONGEST)


def end_what_is_not_to_run(made: Vouching, ends: Ends, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(desired="stopped")
    tell(made, ends, project, ago=0.1)


def lose_the_lease(made: Vouching, ends: Ends, project: Project) -> None:
    Watch.objects.update(holder="two")


@pytest.mark.parametrize(
    "happens",
    [
        pause, pause_before_the_round_beats, miss_some, beat_in_time, take_too_long, end_what_is_not_to_run,
        lose_the_lease,
    ],
)  # fmt: skip
def test_what_no_event_tells_enough_of_is_vouched_for_by_nobody(
    happens: Callable[..., Any], vouching: Vouching, victim: Project, others: list[Project], ends: Ends
) -> None:
    happens(vouching, ends, victim)
    tell(vouching, ends, others[0], "kill")
    vouching.step()
    assert beaten_ago() > AGO - 1


def test_a_heartbeat_is_no_newer_than_what_was_heard_and_never_becomes_older(
    vouching: Vouching, others: list[Project], ends: Ends
) -> None:
    """The engine's clock may be any: what it told most quickly tells how late it tells the rest."""
    tell(vouching, ends, others[0], "kill", ago=3600.0)
    tell(vouching, ends, others[0], "kill", ago=3601.0)
    vouching.step()
    assert 1.0 <= beaten_ago() < 2.0
    Watch.objects.update(heartbeat_at=timezone.now())
    vouching.step()
    assert beaten_ago() < 1.0
