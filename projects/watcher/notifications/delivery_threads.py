"""Sends due messages, each in a thread of its own.

A slow or silent receiver delays no other, because only a few threads serve receivers that were slow before.
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
from containers.processes.side_work import begin_in_time
from projects.models import AlertDelivery, DeliveryState
from projects.rules.alerts import PAUSES, AlertKind, Way, pause_after
from projects.services.alerts.sending import Sent, deliver, record

log = logging.getLogger(__name__)

BATCH = 200
"""The maximum number of channels with due messages in one pass, for slow channels and for the others."""

AT_ONCE, OF_SLOW = 8, 4
"""The most messages under way: to receivers that answer fast, and to those that were slow or silent last time."""

BEGINS_WITHIN = 5.0
"""Seconds for a message's thread to begin. If memory is exhausted it never does, and the next pass tries again."""

SLOW = 3.0
"""Seconds after which an answer counts as slow."""

MOST_SLOW = 5000
"""How many channels are remembered as slow. Above that, those that were slow the longest ago are forgotten."""

Run = Callable[[Callable[[], None]], None]
Find = Callable[[], QuerySet[AlertDelivery]]


class DeliveryThreads:
    """The messages under way. `run` starts work in the background; `find` returns the due messages."""

    def __init__(self, run: Run | None = None, find: Find | None = None) -> None:
        self._run, self._find = run or _begin_thread, find or find_due
        self._lock = threading.Lock()
        self._under_way: dict[UUID, bool] = {}
        self._slow: dict[UUID, None] = {}

    def send_due(self) -> None:
        """Sends one message per channel at a time, the longest due first. The rest waits for the next pass.

        Slow channels are queried separately, so that they do not block the others.
        """
        with self._lock:
            busy, slow = list(self._under_way), list(self._slow)
        due = self._find()
        known_slow = due.filter(channel__in=slow).exclude(channel__in=busy)
        for chosen in (due.exclude(channel__in=[*busy, *slow]), known_slow):
            for channel in _by_first(chosen)[:BATCH]:
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
        except Exception as error:  # noqa: BLE001 - logged without its message
            _note_broken(delivery, error)
        finally:
            self._leave(delivery.channel_id, is_slow=is_slow)


def _note_broken(delivery: AlertDelivery, error: Exception) -> None:
    """Logs and records an error without its message, which may contain an address, which is a credential."""
    level = logging.WARNING if isinstance(error, DatabaseError | OutboxFullError) else logging.ERROR
    log.log(level, "The try %s of the alert %s broke: %s", delivery.attempts, delivery.pk, type(error).__name__)
    with suppress(django.db.Error):  # then `claim` ends it
        record(delivery, Sent(DeliveryState.WAITING, "This server could not send it"))


def find_due() -> QuerySet[AlertDelivery]:
    """Returns the due messages, without those for a bot whose chat is unknown, and without alerts about the service for
    users who are no longer staff.
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
    """Returns the channels with due messages, the longest due first."""
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
    """Claims the message for one attempt, and schedules the next one in case this process dies.

    Returns False if another process has claimed it, or if its last attempt ended without a record.
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
