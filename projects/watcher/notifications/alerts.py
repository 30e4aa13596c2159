"""Sends alerts to users about their agents: reads events with its own cursor in a thread of its own."""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, IntegrityError, close_old_connections, connections, transaction

from projects.models import Event, EventCursor, Project
from projects.models.event import SYSTEM
from projects.rules.alerts import AlertKind, find_kind
from projects.services.alerts.queueing import place
from projects.services.alerts.service_notifications import note_service
from projects.watcher.failures import is_of_the_database
from projects.watcher.heartbeat import STEP, Pulse
from projects.watcher.notifications.crash_mail import NEEDS_THE_OWNER
from projects.watcher.notifications.delivery_threads import DeliveryThreads
from projects.watcher.notifications.troubles import note_crash, note_troubles
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two checks of the events and of due messages."""

TROUBLES_EVERY = 6.0
SERVICE_EVERY = 15.0
"""Seconds between two checks of the service itself."""

BATCH = 200


class Alerts(LastingThread):
    """The thread that sends alerts while `leads` is true."""

    def __init__(self, leads: Callable[[], bool], pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("alerts")
        super().__init__(name="alerts", end_within=EVERY, beat=self._beat)
        self._leads = leads
        self._deliveries = DeliveryThreads()
        self._troubles_again_at = self._service_again_at = 0.0

    def _run(self) -> None:
        self._beat.expect(STEP)
        while not self._stopped.wait(EVERY):
            self._beat.expect(EVERY + 2 * STEP)
            try:
                close_old_connections()
                if self._leads():
                    self.step()
            except DatabaseError as error:
                log.warning("Alerts wait for the database: %s", type(error).__name__)
            except Exception:
                log.exception("The alerts failed; the next check continues.")
            finally:
                connections.close_all()

    def step(self) -> None:
        cursor = open_cursor()
        if time.monotonic() >= self._troubles_again_at:
            self._troubles_again_at = time.monotonic() + TROUBLES_EVERY
            note_troubles()
        if time.monotonic() >= self._service_again_at:
            self._service_again_at = time.monotonic() + SERVICE_EVERY
            note_service()
        read_events(cursor)
        self._deliveries.send_due()


def open_cursor() -> EventCursor:
    return EventCursor.named(f"{settings.BERTH_INSTANCE} alerts")


def read_events(cursor: EventCursor) -> None:
    """Creates the messages for new events, each in one transaction with the advance of the cursor.

    If the database fails at one, for example because of a lock, that event and all later ones wait for the next check.
    """
    for event in cursor.unread(limit=BATCH):
        try:
            with transaction.atomic():
                _read(event)
                cursor.advance(event.pk)
        except IntegrityError:
            return  # a project or user was just deleted; the next check notices that
        except Exception as error:
            if is_of_the_database(error):
                log.warning("Alerts about new events wait for the database: %s", type(error).__name__)
                return
            log.exception("The event %s could not be made an alert; it is skipped.", event.pk)
            cursor.advance(event.pk)


def _read(event: Event) -> None:
    needs_owner = event.source == SYSTEM.source and (event.action, event.outcome) in NEEDS_THE_OWNER
    kind = find_kind(event.action, event.outcome, needs_owner=needs_owner)
    if kind is None:
        return
    mine = Project.objects.filter(pk=event.project_id, instance=settings.BERTH_INSTANCE)
    name = mine.values_list("name", flat=True).first()
    if name is not None:
        if kind is AlertKind.CRASH:
            note_crash(event.project_id)
        place(event, kind, name=name)
