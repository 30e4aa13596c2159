"""A row locked by someone else does not block others in a round, and the heartbeat does not cover it."""

import logging
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from projects.models import Project, Watch
from projects.watcher import failures
from projects.watcher.ends import observation
from projects.watcher.failures import MOST_LOCKED, locked_rows
from projects.watcher.reconcile.background import Background
from projects.watcher.reconcile.full import reconcile
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import status_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]

LOCKED = OperationalError("canceling statement due to lock timeout")


@pytest.fixture
def projects(deploy: Callable[..., Project], engine: MemoryEngine) -> list[Project]:
    made = [deploy(telegramToken=f"{1000 + number}:AA") for number in range(MOST_LOCKED + 1)]
    for project in made:
        engine.exit(project.container_name, exit_code=1)
    return made


@pytest.fixture
def lock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Nothing can be written to the rows of these projects."""
    original = observation.record_observation
    locked: set[UUID] = set()

    def record(project: Project, *args: Any, **values: Any) -> bool:
        if project.pk in locked:
            raise LOCKED
        return bool(original(project, *args, **values))

    def lock(*projects: Project) -> None:
        locked.clear()
        locked.update(project.pk for project in projects)

    monkeypatch.setattr("projects.watcher.reconcile.project.record_observation", record)
    yield lock
    for pk in locked:
        locked_rows.forget(pk)


def test_a_round_continues_past_a_locked_row_and_later_ones_skip_it(
    projects: list[Project], engine: MemoryEngine, lock: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    victim, *others = projects
    lock(victim)
    with caplog.at_level(logging.WARNING):
        first, second = reconcile(), reconcile()
    assert (first.unwritten, first.skipped) == (1, 0)
    assert (second.unwritten, second.skipped) == (1, 1)
    assert [line for line in first.failed if "its row could not be written" in line]
    assert "Traceback" not in caplog.text
    assert {status_of(project) for project in others} == {"running"}
    assert not Project.objects.exclude(reconcile_failures=0).exists()


def test_a_project_is_repaired_once_its_row_is_free(
    projects: list[Project], lock: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = projects[0]
    lock(victim)
    monkeypatch.setattr(failures, "LONGEST_PAUSE", 0.0)
    assert reconcile().unwritten == 1
    lock()
    assert reconcile().unwritten == 0
    assert status_of(victim) == "running"


def test_many_locked_rows_end_the_round(projects: list[Project], lock: Callable[..., None]) -> None:
    """It would wait for each of them."""
    lock(*projects)
    with pytest.raises(OperationalError):
        reconcile()


def test_the_watcher_does_not_beat_for_rows_that_it_could_not_write(
    projects: list[Project], lock: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Background, "hand_over", lambda _self, _project, act: act())
    watcher = Watcher()
    lock(projects[0])
    watcher._look()
    assert Watch.objects.get().heartbeat_at is None
    lock()
    monkeypatch.setattr(failures, "LONGEST_PAUSE", 0.0)
    locked_rows.note(projects[0].pk)
    watcher._look()
    assert Watch.objects.get().heartbeat_at is not None


def test_a_watcher_that_ends_while_the_database_is_away_ends_in_peace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise LOCKED

    monkeypatch.setattr(Watch.objects, "filter", lambda **_: fail())
    watcher = Watcher()
    watcher.stop()
    with caplog.at_level(logging.WARNING):
        watcher.run()
    assert "ends by itself" in caplog.text
