"""Old samples are combined: one per quarter of an hour stays."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from projects.models import Project, Sample
from projects.models.figures.sample import MINUTE, QUARTER
from projects.services.reports.samples import read_samples, roll_up

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def add(project: Project, at: datetime, *, minutes: int = MINUTE, **counts: int) -> None:
    values = {"cpu": 0, "memory": 0, "received": 0, "sent": 0} | counts
    Sample.objects.create(project_id=project.pk, at=at, minutes=minutes, **values)


def test_a_quarter_of_an_hour_has_mean_maximum_and_sums_of_its_minutes(project: Project) -> None:
    for number in range(17):
        add(project, NOON + timedelta(minutes=number), cpu=number, memory=100 - number, received=10, sent=1)
    done = roll_up(since=None, now=NOON + timedelta(minutes=16, seconds=59))
    assert not Sample.objects.filter(minutes=QUARTER).exists()
    done = roll_up(since=done, now=NOON + timedelta(minutes=17))
    assert done == NOON + timedelta(minutes=15)
    made = read_samples([project.pk], since=NOON, now=done, minutes=QUARTER)[project.pk]
    assert made == [(NOON, 0.07, 100, 150, 15)]
    assert roll_up(since=None, now=NOON + timedelta(minutes=18)) == done  # as another process finds it
    assert Sample.objects.filter(minutes=QUARTER).count() == 1


def test_samples_missed_without_a_watcher_are_rolled_up_later(project: Project) -> None:
    add(project, NOON - timedelta(hours=20))
    add(project, NOON - timedelta(hours=3))
    roll_up(since=None, now=NOON)
    made = Sample.objects.filter(minutes=QUARTER).values_list("at", flat=True)
    assert list(made) == [NOON - timedelta(hours=20), NOON - timedelta(hours=3)]


def test_samples_of_others_are_not_read(project: Project) -> None:
    add(project, NOON)
    assert read_samples([uuid4()], since=NOON, now=NOON, minutes=MINUTE) == {}
