"""Pending decisions are repeated every day, for operators in the log and for staff in the admin."""

import logging
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from containers.identity import own_labels
from projects.models import Installation, Quarantined
from projects.models.installation import read_installation
from projects.models.quarantine import KEPT_FOR
from projects.watcher.upkeep.reminders import EVERY, remind
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine

pytestmark = pytest.mark.django_db

HELD = "Nothing is mended, because a test says so."
DAY = timedelta(days=1)


def put(key: str, *, ago: timedelta, instance: str = "") -> None:
    since = timezone.now() - ago
    Quarantined.objects.create(key=key, instance=instance or settings.BERTH_INSTANCE, since=since)


def held(*, ago: timedelta) -> None:
    pk = read_installation().pk
    Installation.objects.filter(pk=pk).update(held_because=HELD, held_since=timezone.now() - ago)


def a_day_passes() -> None:
    reminded = Installation.objects.get().reminded_at
    assert reminded is not None
    Installation.objects.update(reminded_at=reminded - EVERY)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    caplog.clear()
    return found


def test_without_pending_decisions_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    put("a", ago=KEPT_FOR - timedelta(minutes=1))
    put("b", ago=KEPT_FOR * 2, instance="another")
    held(ago=DAY - timedelta(minutes=1))
    remind()
    assert said(caplog) == []
    assert Installation.objects.get().reminded_at is None


@pytest.mark.parametrize(("count", "words"), [(1, "1 agent has"), (2, "2 agents have"), (25, "25 agents have")])
def test_old_quarantine_entries_are_logged_once_a_day(count: int, words: str, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(count):
        put(str(number), ago=KEPT_FOR)
    put("young", ago=DAY)
    for _ in range(3):
        for _ in range(5):
            remind()
        [sentence] = said(caplog)
        assert words in sentence
        assert "manage.py quarantine" in sentence
        a_day_passes()
    assert Quarantined.objects.count() == count + 1


def test_a_long_hold_of_repairs_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    put("a", ago=KEPT_FOR)
    held(ago=DAY)
    remind()
    sentences = said(caplog)
    assert sentences[0] == HELD
    assert len(sentences) == 2
    a_day_passes()
    Quarantined.objects.all().delete()
    remind()
    assert said(caplog) == [HELD]


def test_after_a_decision_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    put("a", ago=KEPT_FOR)
    remind()
    said(caplog)
    Quarantined.objects.all().delete()
    a_day_passes()
    remind()
    assert said(caplog) == []


def test_the_watcher_reminds(
    engine: MemoryEngine, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.watcher.watcher.close_old_connections", lambda: None)
    engine.foreign("berth-kept", labels={**own_labels(), "berth.project": "kept"}).created_at = timezone.now()
    put("kept", ago=KEPT_FOR)
    watcher = Watcher()
    for each in (watcher, watcher, Watcher()):  # and as after a restart of the service
        each.name = "one"
        each._look()
    assert len([sentence for sentence in said(caplog) if "in quarantine" in sentence]) == 1
