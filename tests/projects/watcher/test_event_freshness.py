"""While a round waits for the engine's list, the engine's events vouch for the rows: nothing is unknown meanwhile."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Event, Project, Watch
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile.event_freshness import LONGEST, EventFreshness
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.hearing import AGO, beaten_ago, know_the_clock, tell
from tests.projects.watcher.looking import statuses
from tests.projects.watcher.slow_ends import go_down

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def test_nothing_is_unknown_during_a_wave_of_events(
    vouching: EventFreshness,
    victim: Project,
    others: list[Project],
    ends: RunEnds,
    engine: MemoryEngine,
    api: APIClient,
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


def test_nothing_is_unknown_after_the_last_event(
    vouching: EventFreshness, engine: MemoryEngine, api: APIClient
) -> None:
    know_the_clock(vouching, engine)
    begun = timezone.now()
    vouching.step()
    assert beaten_ago(begun) < 1.0
    engine.calls.clear()
    assert set(statuses(api).values()) == {"running"}
    assert engine.calls == []


def is_silent(engine: MemoryEngine, victim: Project) -> None:
    engine.fail("find_newest_event", EngineUnavailableError)


def is_behind_a_proxy(engine: MemoryEngine, victim: Project) -> None:
    engine.fail("find_newest_event", EngineRefusedError)


def has_told_of_another(engine: MemoryEngine, victim: Project) -> None:
    """The stream has not delivered it yet."""
    engine.crash(victim.container_name, exit_code=1)


@pytest.mark.parametrize("engine_does", [is_silent, is_behind_a_proxy, has_told_of_another])
def test_a_possible_gap_in_the_events_ends_vouching(
    engine_does: Callable[..., None],
    vouching: EventFreshness,
    victim: Project,
    engine: MemoryEngine,
) -> None:
    know_the_clock(vouching, engine)
    engine_does(engine, victim)
    vouching.step()
    assert beaten_ago() > AGO - 1


def miss_some(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    made.note_gap(is_broken=False)
    made.note_open()
    made.note_round(time.monotonic() - AGO)


def hear_late(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    """The round with the heartbeat began before it arrived, and after it happened."""
    tell(made, ends, None, "kill")
    tell(made, ends, project, ago=AGO + 3.0)
    made.note_round(time.monotonic() - AGO)


def end_a_round_without_a_beat(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    made.doubt()


def beat_in_time(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    made.note_round(time.monotonic())


def take_too_long(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    made.note_round(time.monotonic() - LONGEST)


def lose_the_lease(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    Watch.objects.update(holder="two")


@pytest.mark.parametrize(
    "happens",
    [
        miss_some, hear_late, end_a_round_without_a_beat, beat_in_time, take_too_long, lose_the_lease,
    ],
)  # fmt: skip
def test_a_state_that_events_do_not_determine_is_not_vouched_for(
    happens: Callable[..., Any], vouching: EventFreshness, victim: Project, others: list[Project], ends: RunEnds
) -> None:
    happens(vouching, ends, victim)
    tell(vouching, ends, others[0], "kill")
    vouching.step()
    assert beaten_ago() > AGO - 1


def test_a_heartbeat_is_no_newer_than_the_events_and_never_goes_back(
    vouching: EventFreshness, others: list[Project], ends: RunEnds, engine: MemoryEngine
) -> None:
    """The engine's clock may be any: the fastest event shows by how much the others are late."""
    engine.fail("find_newest_event", EngineUnavailableError, times=2)
    begun = timezone.now()
    tell(vouching, ends, others[0], "kill", ago=3600.0)
    tell(vouching, ends, others[0], "kill", ago=3601.0)
    vouching.step()
    assert beaten_ago() >= 1.0
    assert beaten_ago(begun) < 2.0
    begun = timezone.now()
    Watch.objects.update(heartbeat_at=begun)
    vouching.step()
    assert beaten_ago(begun) < 1.0
