"""Tells users of their agents: reads the events with a cursor and in a thread of its own, and sends what follows.

Each message is sent in one more thread, so that a receiver who is slow or silent delays nobody else: who has been so is
waited for by few of them.
"""

import logging
import threading
import time
from collections.abc import Callable
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, IntegrityError, close_old_connections, connections, transaction
from django.db.models import F

from accounts import clock
from accounts.errors import OutboxFullError
from accounts.moments import over
from projects.models import AlertDelivery, DeliveryState, Event, EventCursor, Project
from projects.models.event import SYSTEM
from projects.rules.alerts import PAUSES, AlertKind, find_kind, pause_after
from projects.services.alert_placing import place
from projects.services.alert_sending import deliver
from projects.watcher.crash_mail import NEEDS_THE_OWNER
from projects.watcher.failures import concerns_all
from projects.watcher.pulse import STEP, Pulse
from projects.watcher.threads import LastingThread
from projects.watcher.troubles import note_crash, note_troubles

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two looks at the events, and at what is due."""

TROUBLES_EVERY = 6.0
BATCH = 200

AT_ONCE, OF_SLOW = 8, 4
"""Messages under way together: to receivers that answer, and to those that did not, or took long, the last time."""

SLOW = 3.0
"""Seconds from which on an answer took long."""

Run = Callable[[Callable[[], None]], None]


class Alerts(LastingThread):
    """One thread, at work while `leads` says so."""

    def __init__(self, leads: Callable[[], bool], pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("alerts")
        super().__init__(name="alerts", end_within=EVERY, beat=self._beat)
        self._leads = leads
        self._lanes = Lanes()
        self._troubles_again_at = 0.0

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
                log.exception("The alerts broke; the next look goes on.")
            finally:
                connections.close_all()

    def step(self) -> None:
        cursor = open_cursor()
        if time.monotonic() >= self._troubles_again_at:
            self._troubles_again_at = time.monotonic() + TROUBLES_EVERY
            note_troubles()
        read_events(cursor)
        self._lanes.send_due()


class Lanes:
    """What is under way. `run` begins a piece of work in the background."""

    def __init__(self, run: Run | None = None) -> None:
        self._run = run or _begin_thread
        self._lock = threading.Lock()
        self._under_way: dict[UUID, bool] = {}
        self._slow: set[UUID] = set()

    def send_due(self) -> None:
        """One message of each way at a time, the longest due first. What finds no room waits for the next look."""
        with self._lock:
            busy = list(self._under_way)
        due = AlertDelivery.objects.filter(
            over("next_try_at", at_most=PAUSES[-1], now=clock.now()),
            state=DeliveryState.WAITING,
            channel__user__is_active=True,
        ).exclude(channel__in=busy)
        for delivery in due.select_related("channel").order_by("next_try_at")[:BATCH]:
            if self._enter(delivery.channel_id):
                self._start(delivery)

    def _start(self, delivery: AlertDelivery) -> None:
        try:
            is_mine = claim(delivery)
        except BaseException:
            self._leave(delivery.channel_id)
            raise
        if is_mine:
            self._run(lambda: self._send(delivery))
        else:
            self._leave(delivery.channel_id)

    def _enter(self, channel: UUID) -> bool:
        with self._lock:
            is_slow = channel in self._slow
            room = OF_SLOW if is_slow else AT_ONCE
            if channel in self._under_way or sum(each == is_slow for each in self._under_way.values()) >= room:
                return False
            self._under_way[channel] = is_slow
            return True

    def _leave(self, channel: UUID, *, is_slow: bool | None = None) -> None:
        with self._lock:
            self._under_way.pop(channel, None)
            if is_slow is not None:
                (self._slow.add if is_slow else self._slow.discard)(channel)

    def _send(self, delivery: AlertDelivery) -> None:
        began, is_slow = time.monotonic(), True
        try:
            sent = deliver(delivery)
            is_slow = sent.state == DeliveryState.WAITING or time.monotonic() - began > SLOW
        except (DatabaseError, OutboxFullError) as error:
            log.warning("The alert %s is tried again: %s", delivery.pk, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - its words may hold an address, which is a credential
            log.error("The alert %s broke: %s", delivery.pk, type(error).__name__)  # noqa: TRY400 - likewise
        finally:
            self._leave(delivery.channel_id, is_slow=is_slow)


def _begin_thread(work: Callable[[], None]) -> None:
    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    threading.Thread(target=run, name="alert", daemon=True).start()


def claim(delivery: AlertDelivery) -> bool:
    """Takes the message for one try, and has the next one follow if this process dies. False: another one has."""
    attempts = delivery.attempts + 1
    mine = AlertDelivery.objects.filter(
        pk=delivery.pk, state=DeliveryState.WAITING, attempts=delivery.attempts, event_id=delivery.event_id
    )
    again_at = clock.now() + (pause_after(attempts) or PAUSES[-1])
    delivery.attempts = attempts
    return bool(mine.update(attempts=F("attempts") + 1, next_try_at=again_at))


def open_cursor() -> EventCursor:
    return EventCursor.named(f"{settings.BERTH_INSTANCE} alerts")


def read_events(cursor: EventCursor) -> None:
    """Leaves the messages that follow. They and the step of the cursor are one transaction."""
    for event in cursor.unread(limit=BATCH):
        try:
            with transaction.atomic():
                _read(event)
                cursor.advance(event.pk)
        except IntegrityError:
            return  # a project or a user went at this moment: the next look finds it gone
        except Exception as error:
            if concerns_all(error):
                raise
            log.exception("The event %s makes no alert; it is passed over.", event.pk)
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
