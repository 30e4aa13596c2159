"""A reader of the events misses none, and reads none twice."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.db import connection, transaction
from django.utils import timezone

from projects.models import Event, EventCursor, Project
from projects.models.event import SYSTEM
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.mailing import deliver

HANG_GUARD = 60.0
CALM = timedelta(minutes=1)


def add(action: str = "stop", *, project_id: UUID | None = None, **fields: Any) -> Event:
    return Event.objects.create(
        project_id=project_id or uuid4(), owner_id=uuid4(), actor="system", source="system", action=action, **fields
    )


def actions(cursor: EventCursor) -> list[str]:
    return [event.action for event in cursor.unread(limit=100)]


@pytest.fixture
def cursor(db: None) -> EventCursor:
    add("the past")
    return EventCursor.named("a reader")


def test_a_new_cursor_begins_at_the_newest_event(cursor: EventCursor) -> None:
    assert actions(cursor) == []
    add("first")
    add("second")
    assert actions(EventCursor.named("a reader")) == ["first", "second"]


def test_each_reader_has_a_separate_cursor(cursor: EventCursor) -> None:
    other = EventCursor.named("another reader")
    cursor.advance(add("first").pk)
    assert (actions(cursor), actions(other)) == ([], ["first"])


def test_a_cursor_never_goes_back(cursor: EventCursor) -> None:
    first, second = add("first"), add("second")
    EventCursor.named("a reader").advance(second.pk)
    cursor.advance(first.pk)
    assert EventCursor.named("a reader").last_event_id == second.pk


def test_no_more_are_read_at_once_than_wanted(cursor: EventCursor) -> None:
    for _ in range(3):
        add()
    assert len(cursor.unread(limit=2)) == 2


def test_reading_stops_before_a_missing_id_until_it_can_no_longer_appear(cursor: EventCursor) -> None:
    add("first")
    missing = add("missing")
    Event.objects.filter(pk=missing.pk).delete()
    late = add("late")
    add("later")
    assert actions(cursor) == ["first"]
    Event.objects.filter(pk=late.pk).update(at=timezone.now() - CALM)
    assert actions(cursor) == ["first", "late", "later"]


@pytest.mark.postgres_only
@pytest.mark.django_db(transaction=True)
def test_an_event_committed_after_a_later_one_is_not_skipped() -> None:
    """The row with the lower id becomes visible last."""
    add("the past")
    cursor = EventCursor.named("a reader")
    inserted, may_commit = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with transaction.atomic():
            add("slow")
            inserted.set()
            may_commit.wait(HANG_GUARD)
        connection.close()

    writer = threading.Thread(target=write_slowly)
    writer.start()
    assert inserted.wait(HANG_GUARD)
    add("quick")
    seen = actions(cursor)
    may_commit.set()
    writer.join()
    assert seen == []
    assert actions(cursor) == ["slow", "quick"]


# -- the mail of crashes is such a reader -----------------------------------------------------------------------------


@pytest.fixture
def give_up(project: Project, engine: MemoryEngine, settings: Any) -> Callable[[], None]:
    settings.BERTH_SENDS_MAIL = True

    def crash_for_good() -> None:
        Project.objects.update(gave_up_at=None, noticed_at=None)
        engine.crash(project.container_name, exit_code=20, restarting=True)
        reconcile()

    return crash_for_good


def test_a_crash_from_before_the_first_round_is_not_mailed(give_up: Callable[[], None]) -> None:
    give_up()
    EventCursor.objects.all().delete()
    deliver()
    mail.outbox.clear()
    reconcile()
    reconcile()
    deliver()
    assert mail.outbox == []


def test_a_process_that_dies_before_it_could_send_leaves_the_mail_to_the_next(
    give_up: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("projects.watcher.reconcile.full.queue_crash_mails", lambda cursor: None)
        give_up()
    deliver()
    assert mail.outbox == []
    reconcile()
    deliver()
    assert len(mail.outbox) == 1
    reconcile()
    deliver()
    assert len(mail.outbox) == 1


def test_events_from_before_a_mail_server_was_set_are_not_mailed(give_up: Callable[[], None], settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = False
    give_up()
    settings.BERTH_SENDS_MAIL = True
    reconcile()
    deliver()
    assert mail.outbox == []


def test_a_project_that_is_gone_or_well_again_is_not_mailed_about(
    give_up: Callable[[], None], project: Project, engine: MemoryEngine
) -> None:
    reconcile()
    add("give up", outcome="done")
    add("give up", outcome="done", project_id=project.pk)
    reconcile()
    deliver()
    assert mail.outbox == []


def test_a_failed_command_of_the_owner_causes_no_mail(give_up: Callable[[], None], project: Project) -> None:
    reconcile()
    give_up()
    deliver()
    mail.outbox.clear()
    Project.objects.update(noticed_at=None)
    event = project.event(SYSTEM, "give up", "done")
    event.source, event.actor = "session", "alice@example.org"
    event.save()
    reconcile()
    deliver()
    assert mail.outbox == []
