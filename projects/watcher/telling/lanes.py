"""Sends the messages that are due, each in a thread of its own.

A receiver who is slow or silent delays nobody else: who has been so is waited for by few of them.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from uuid import UUID

import django.db
from django.db import DatabaseError, connections
from django.db.models import F, Min, QuerySet

from accounts import clock
from accounts.errors import OutboxFullError
from accounts.moments import over
from containers.side_work import begin_in_time
from projects.models import AlertDelivery, DeliveryState
from projects.rules.alerts import PAUSES, AlertKind, Way, pause_after
from projects.services.alerts.sending import Sent, deliver, record

log = logging.getLogger(__name__)

BATCH = 200
"""Ways with messages that are due at which one look looks, of those that were slow and of the others."""

AT_ONCE, OF_SLOW = 8, 4
"""Messages under way together: to receivers that answer, and to those that did not, or took long, the last time."""

BEGINS_WITHIN = 5.0
"""Seconds for the thread of a message to begin. One that finds no memory never does, and the next look tries again."""

SLOW = 3.0
"""Seconds from which on an answer took long."""

MOST_SLOW = 5000
"""Ways that are remembered as slow. Beyond that, those that have been so the longest ago count as the others."""

Run = Callable[[Callable[[], None]], None]
Find = Callable[[], QuerySet[AlertDelivery]]


class Lanes:
    """What is under way. `run` begins a piece of work in the background. `find` finds what is due."""

    def __init__(self, run: Run | None = None, find: Find | None = None) -> None:
        self._run, self._find = run or _begin_thread, find or find_due
        self._lock = threading.Lock()
        self._under_way: dict[UUID, bool] = {}
        self._slow: dict[UUID, None] = {}

    def send_due(self) -> None:
        """One message of each way at a time, the longest due first. What finds no room waits for the next look.

        Those that were slow are looked up apart, so that they do not stand in front of the others.
        """
        with self._lock:
            busy, slow = list(self._under_way), list(self._slow)
        due = self._find()
        for lane in (due.exclude(channel__in=[*busy, *slow]), due.filter(channel__in=slow).exclude(channel__in=busy)):
            for channel in _by_first(lane)[:BATCH]:
                if self._enter(channel):
                    self._start(due.filter(channel=channel), channel)

    def _start(self, due: QuerySet[AlertDelivery], channel: UUID) -> None:
        try:
            delivery = due.select_related("channel").order_by("next_try_at").first()
            if delivery is not None and claim(delivery):
                self._run(partial(self._send, delivery))
                return
        except BaseException:
            self._leave(channel)
            raise
        self._leave(channel)

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
                self._slow.pop(channel, None)
            if is_slow:
                self._slow[channel] = None
            if len(self._slow) > MOST_SLOW:
                del self._slow[next(iter(self._slow))]

    def _send(self, delivery: AlertDelivery) -> None:
        began, is_slow = time.monotonic(), True
        try:
            sent = deliver(delivery)
            is_slow = sent.state == DeliveryState.WAITING or time.monotonic() - began > SLOW
        except Exception as error:  # noqa: BLE001 - it is told without its words
            _note_broken(delivery, error)
        finally:
            self._leave(delivery.channel_id, is_slow=is_slow)


def _note_broken(delivery: AlertDelivery, error: Exception) -> None:
    """The error's own words may hold an address, which is a credential."""
    level = logging.WARNING if isinstance(error, DatabaseError | OutboxFullError) else logging.ERROR
    log.log(level, "The try %s of the alert %s broke: %s", delivery.attempts, delivery.pk, type(error).__name__)
    with suppress(django.db.Error):  # then `claim` ends it
        record(delivery, Sent(DeliveryState.WAITING, "This server could not send it"))


def find_due() -> QuerySet[AlertDelivery]:
    """What waits for a bot whose chat is not known yet is not among them, nor what only staff may read and waits for
    somebody who is staff no more.
    """
    due = AlertDelivery.objects.filter(
        over("next_try_at", at_most=PAUSES[-1], now=clock.now()),
        state=DeliveryState.WAITING,
        channel__user__is_active=True,
    )
    return due.exclude(channel__way=Way.TELEGRAM, channel__target="").exclude(
        kind=AlertKind.SERVICE, channel__user__is_staff=False
    )


def _by_first(due: QuerySet[AlertDelivery]) -> QuerySet[AlertDelivery, UUID]:
    """The ways with messages that are due, the longest due first."""
    by_way = due.order_by().values("channel").annotate(first=Min("next_try_at"))
    return by_way.order_by("first").values_list("channel", flat=True)


def _begin_thread(work: Callable[[], None]) -> None:
    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    if not begin_in_time(run, BEGINS_WITHIN):
        raise RuntimeError("can't start new thread")


def claim(delivery: AlertDelivery) -> bool:
    """Takes the message for one try, and has the next one follow if this process dies. False: there is none to make.

    That is where another one has taken it, or where nothing could be recorded of the last try.
    """
    attempts = delivery.attempts + 1
    mine = AlertDelivery.objects.filter(
        pk=delivery.pk, state=DeliveryState.WAITING, attempts=delivery.attempts, event_id=delivery.event_id
    )
    if delivery.attempts > len(PAUSES):
        mine.update(state=DeliveryState.GIVEN_UP, ended_at=clock.now())
        return False
    again_at = clock.now() + (pause_after(attempts) or PAUSES[-1])
    delivery.attempts = attempts
    return bool(mine.update(attempts=F("attempts") + 1, next_try_at=again_at))
