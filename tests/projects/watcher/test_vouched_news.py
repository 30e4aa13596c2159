"""Which events delay the heartbeat, and what is recorded of them later."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import DatabaseError
from django.utils import timezone

from containers.vocabulary import ContainerState, Observation
from projects.models import Project
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile import inspection_choice
from projects.watcher.reconcile.event_freshness import EventFreshness
from projects.watcher.reconcile.event_updates import ILL
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reconcile.round import Round
from projects.watcher.watcher import Watcher
from tests.projects.watcher.hearing import AGO, beaten_ago, tell
from tests.projects.watcher.rows import later

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def say_so(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    later(project, health="unhealthy")


def look_since(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    later(project, observed_at=timezone.now())


def become_well(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    tell(made, ends, project, "health_status: healthy")


@pytest.mark.parametrize("happens", [say_so, look_since, become_well])
def test_an_unhealthy_agent_needs_only_its_recorded_health(
    happens: Callable[..., Any], vouching: EventFreshness, victim: Project, ends: RunEnds
) -> None:
    tell(vouching, ends, victim, ILL)
    happens(vouching, ends, victim)
    vouching.step()
    assert beaten_ago() < AGO - 1


IN_OPERATION = {"operation": "restart", "operation_id": uuid4(), "operation_deadline": timezone.now()}
FREE = {"operation": "", "operation_id": None, "operation_deadline": None}


@pytest.mark.parametrize(
    ("held", "freed"),
    [(IN_OPERATION, FREE), ({"reconcile_failures": 1}, {"reconcile_failures": 0})],
    ids=["operation", "failures"],
)
def test_events_of_a_skipped_row_are_recorded_afterwards(
    held: dict[str, object], freed: dict[str, object], vouching: EventFreshness, victim: Project, ends: RunEnds
) -> None:
    """No heartbeat vouches for it meanwhile; that of the others is not delayed. A round skips it, too."""
    later(victim, **held)
    tell(vouching, ends, victim)
    vouching.step()
    assert beaten_ago() < AGO - 1
    vouching.note_round(time.monotonic(), {victim.container_key})
    vouching._base = time.monotonic() - AGO
    later(victim, **freed)
    vouching.step()
    assert Project.objects.get(pk=victim.pk).container_state == "restarting"


def test_a_round_names_the_rows_that_an_operation_holds(victim: Project) -> None:
    later(victim, **IN_OPERATION | {"operation_deadline": timezone.now() + timedelta(minutes=1)})
    assert reconcile().in_operation == {victim.container_key}


def test_an_agent_that_ends_while_paused_is_shown_as_down(
    vouching: EventFreshness, victim: Project, ends: RunEnds
) -> None:
    later(victim, container_state="paused")
    tell(vouching, ends, victim)
    vouching.step()
    assert Project.objects.get(pk=victim.pk).container_state == "restarting"
    heard = Observation(name="", container_id="", labels={}, state=ContainerState.RESTARTING)
    assert not inspection_choice._tells_end(Project(container_state="paused"), heard)
    assert inspection_choice._tells_end(Project(container_state="exited"), heard)


def test_each_row_has_a_separate_observation_time(
    vouching: EventFreshness, victim: Project, others: list[Project], ends: RunEnds
) -> None:
    """A locked row is waited for; the watcher must not count as stuck because of several."""
    vouching._beat = Mock()
    for each in (victim, *others):
        tell(vouching, ends, each)
    vouching.step()
    assert vouching._beat.expect.call_count == 1 + len(others)


@pytest.mark.parametrize("outcome", [Round(at=timezone.now(), unwritten=1), DatabaseError()])
def test_a_round_that_cannot_beat_ends_vouching_by_events(
    outcome: Round | DatabaseError, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(name="one")
    watcher._vouching, watcher._protection, watcher._retention, watcher._bot_claims = Mock(), Mock(), Mock(), Mock()
    watcher._volumes_again_at = time.monotonic() + 3600.0
    monkeypatch.setattr(watcher, "_reconcile", Mock(side_effect=[outcome]))
    watcher._confine(watcher._look)
    watcher._vouching.doubt.assert_called_once_with()
    watcher._vouching.note_round.assert_not_called()
