"""If one of many events cannot be recorded yet, events vouch for the rows up to that one, and no further."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from projects.models import Project
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.failures import locked_rows
from projects.watcher.reconcile.event_freshness import MARGIN, EventFreshness
from projects.watcher.reconcile.event_updates import ILL
from tests.projects.watcher.hearing import AGO, beaten_ago, tell
from tests.projects.watcher.rows import later

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

BEFORE = 1.5
"""Seconds since the event that cannot be recorded was received."""


def pause(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    tell(made, ends, project, "pause", ago=BEFORE)


def be_removed_and_come_back(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    tell(made, ends, project, "destroy", ago=BEFORE)
    tell(made, ends, project, "rename")


def pause_before_the_round_beats(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    tell(made, ends, project, "pause", ago=BEFORE)
    made.note_round(time.monotonic() - AGO)


def fall_ill(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    tell(made, ends, project, ILL, ago=BEFORE)


def fall_ill_again_and_end(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    """The event that ends it makes its illness irrelevant; but its row shows neither."""
    end_what_is_not_to_run(made, ends, project)
    tell(made, ends, project, ILL)
    tell(made, ends, project)


def be_started_and_fall_ill(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    """The event that shows the start is not an inspection, nor is asking again."""
    tell(made, ends, project, "die", ago=BEFORE)
    tell(made, ends, project, "start", ago=BEFORE)
    tell(made, ends, project, ILL, ago=BEFORE)
    made.step()
    tell(made, ends, project, ILL)


def end_what_is_not_to_run(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    """It is started again, and nothing may be said about that either."""
    Project.objects.filter(pk=project.pk).update(desired="stopped")
    tell(made, ends, project, ago=BEFORE)
    tell(made, ends, project, "start")


def have_its_row_locked(made: EventFreshness, ends: RunEnds, project: Project) -> None:
    locked_rows.note(project.pk)
    tell(made, ends, project, ago=BEFORE)


@pytest.fixture(autouse=True)
def _free(victim: Project) -> Any:
    yield
    locked_rows.forget(victim.pk)


@pytest.mark.parametrize(
    "happens",
    [
        pause, be_removed_and_come_back, pause_before_the_round_beats, fall_ill, fall_ill_again_and_end,
        be_started_and_fall_ill, end_what_is_not_to_run, have_its_row_locked,
    ],
)  # fmt: skip
def test_every_row_is_vouched_for_up_to_the_first_unrecorded_event(
    happens: Callable[..., None], vouching: EventFreshness, victim: Project, others: list[Project], ends: RunEnds
) -> None:
    """Until then all rows were right; others that have ended since are recorded anyway, and inspected later."""
    begun = timezone.now()
    tell(vouching, ends, None, "kill")  # the engine reports at once
    happens(vouching, ends, victim)
    tell(vouching, ends, others[0])
    for _ in range(2):
        vouching.step()
        assert beaten_ago() >= BEFORE
        assert beaten_ago(begun) <= BEFORE + 2 * MARGIN
    assert Project.objects.get(pk=others[0].pk).container_state == "restarting"


def look_at_it(project: Project) -> None:
    later(project, observed_at=timezone.now())


def be_about_it(project: Project) -> None:
    later(project, operation="restart", operation_id=uuid4(), operation_deadline=timezone.now() + timedelta(minutes=1))


@pytest.mark.parametrize("since", [look_at_it, be_about_it])
@pytest.mark.parametrize("action", ["pause", "destroy"])
def test_inspected_or_claimed_projects_do_not_hold_back_the_heartbeat(
    action: str, since: Callable[[Project], None], vouching: EventFreshness, victim: Project, ends: RunEnds
) -> None:
    """For example when a command of ours removes its container: no heartbeat vouches for that row meanwhile."""
    begun = timezone.now()
    tell(vouching, ends, victim, action, ago=BEFORE)
    since(victim)
    tell(vouching, ends, None, "kill")
    vouching.step()
    assert beaten_ago(begun) < 1.0


def test_a_round_covers_the_events_before_it(vouching: EventFreshness, victim: Project, ends: RunEnds) -> None:
    begun = timezone.now()
    tell(vouching, ends, victim, "pause", ago=BEFORE)
    vouching.note_round(time.monotonic())
    vouching._base = time.monotonic() - AGO
    tell(vouching, ends, None, "kill")
    vouching.step()
    assert beaten_ago(begun) < 1.0
