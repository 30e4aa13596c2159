"""If each round takes most of a minute, events vouch for the rows between them."""

import time
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.utils import timezone

from projects.models import Project, Watch
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile import event_updates
from projects.watcher.reconcile.event_freshness import MARGIN, OVERLAP, EventFreshness
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.hearing import AGO, beaten_ago, know_the_clock, tell
from tests.projects.watcher.slow_ends import go_down

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

ROUND = 57.0
"""Seconds of a round on a busy machine: a late list, and the logs of sixty crashed agents."""


@pytest.mark.parametrize("next_one", [0.0, 30.0, ROUND])
def test_nothing_is_unknown_between_the_ends_of_long_rounds(
    next_one: float,
    vouching: EventFreshness,
    victim: Project,
    others: list[Project],
    ends: RunEnds,
    engine: MemoryEngine,
) -> None:
    """The heartbeat of a round is from its beginning, and so is too old as soon as it is there."""
    know_the_clock(vouching, engine)
    go_down(engine, victim)
    tell(vouching, ends, victim)
    vouching.note_round(time.monotonic() - ROUND - next_one)
    begun = timezone.now()
    vouching.step()
    assert beaten_ago(begun) < 1.0
    assert Project.objects.get(pk=victim.pk).container_state == "restarting"
    engine.crash(others[0].container_name)  # the stream does not deliver it
    Watch.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=AGO))
    vouching._until -= 2.0
    vouching.step()
    assert beaten_ago() > 1.0


def test_events_known_to_be_complete_are_not_checked_again(
    vouching: EventFreshness, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a minute an engine has too many events."""
    know_the_clock(vouching, engine)
    vouching._newest -= 60.0
    asked: list[datetime] = []
    monkeypatch.setattr(engine, "find_newest_event", lambda *_, since, until: asked.append(since))
    vouching.note_round(time.monotonic() - 50.0)
    vouching.step()
    vouching._until -= MARGIN
    vouching.step()
    now = timezone.now()
    assert [round((now - each).total_seconds() / 10) for each in asked] == [5, 0]
    assert (now - asked[1]).total_seconds() >= OVERLAP


@pytest.mark.parametrize("is_told", [True, False])
def test_events_heard_during_a_long_list_count_if_nothing_else_happened(
    is_told: bool,
    vouching: EventFreshness,
    victim: Project,
    others: list[Project],
    ends: RunEnds,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tell(vouching, ends, victim, ago=0.0)
    tell_late = Mock(wraps=event_updates.record_events)
    monkeypatch.setattr("projects.watcher.reconcile.event_freshness.record_events", tell_late)

    def take_seconds(*args: Any, **options: Any) -> Any:
        found = event_updates.record_events(*args, **options)
        vouching._until = time.monotonic()
        if not is_told:
            tell(vouching, ends, others[0])
        return found

    tell_late.side_effect = take_seconds
    vouching._until -= 2.0
    monkeypatch.setattr(vouching, "_ask", lambda *_: None)
    begun = timezone.now()
    vouching.step()
    assert (beaten_ago(begun) < 1.0) is is_told
