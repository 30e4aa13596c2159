"""A database that fails for a moment loses no alert: the events wait until it is well again."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.db import DatabaseError, DataError, InterfaceError, InternalError, OperationalError, ProgrammingError

from accounts.models import OutgoingMail
from projects.models import AlertDelivery, EventCursor, Project
from projects.watcher.notifications import alerts, crash_mail
from projects.watcher.notifications.alerts import open_cursor, read_events
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.mailing import deliver


def caused_by(error: Exception, **code: str) -> Exception:
    error.__cause__ = Exception(str(error))
    vars(error.__cause__).update(code)
    return error


PASSING = [
    OperationalError("canceling statement due to lock timeout"),
    OperationalError("database is locked"),
    InternalError("cannot execute INSERT in a read-only transaction"),
    InterfaceError("connection already closed"),
    caused_by(ProgrammingError("permission denied for table projects_alertdelivery"), sqlstate="42501"),
    caused_by(ProgrammingError('relation "projects_alertdelivery" does not exist'), sqlstate="42P01"),
    caused_by(DatabaseError("database disk image is malformed"), sqlite_errorname="SQLITE_CORRUPT"),
]


def crash_twice(project: Project, engine: MemoryEngine) -> None:
    for exit_code in (1, 2):
        engine.crash(project.container_name, exit_code=exit_code)
        reconcile()


@pytest.mark.parametrize("owner_of_fault", [(alerts, "place"), (alerts, "note_crash"), (EventCursor, "advance")])
@pytest.mark.parametrize("error", PASSING, ids=str)
def test_events_wait_for_a_database_that_fails_for_a_moment(
    project: Project,
    engine: MemoryEngine,
    secret: str,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    owner_of_fault: tuple[Any, str],
) -> None:
    crash_twice(project, engine)
    before = open_cursor().last_event_id
    with monkeypatch.context() as patch:
        patch.setattr(*owner_of_fault, fail_with(error))
        for _ in range(3):
            read_events(open_cursor())
    assert open_cursor().last_event_id == before
    assert not AlertDelivery.objects.exists()
    read_events(open_cursor())
    assert AlertDelivery.objects.filter(kind="crash").count() == 1
    assert open_cursor().last_event_id > before


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), DataError("value too long"), ProgrammingError("cannot adapt")], ids=str
)
def test_an_event_at_fault_itself_does_not_hold_up_the_others(
    project: Project, engine: MemoryEngine, secret: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    crash_twice(project, engine)
    before = open_cursor().last_event_id
    monkeypatch.setattr(alerts, "place", fail_with(error))
    read_events(open_cursor())
    assert open_cursor().last_event_id > before


@pytest.mark.parametrize("at_fault", ["_find_notice", "_queue"])
@pytest.mark.parametrize("error", PASSING, ids=str)
def test_a_crash_notice_waits_as_well(
    project: Project,
    engine: MemoryEngine,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    error: Exception,
    at_fault: str,
) -> None:
    settings.BERTH_SENDS_MAIL = True
    engine.crash(project.container_name, exit_code=20, restarting=True)
    with monkeypatch.context() as patch:
        patch.setattr(crash_mail, at_fault, fail_with(error))
        for _ in range(3):
            assert reconcile().failed == []
    assert not OutgoingMail.objects.exists()
    reconcile()
    deliver()
    assert [message.subject for message in mail.outbox] == [f"{project.name} needs you"]


def fail_with(error: Exception) -> Callable[..., None]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail
