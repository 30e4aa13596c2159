"""Deletes rows that are no longer needed, in batches so small that they block neither a round nor a request."""

import logging
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet

from accounts import clock
from accounts.credentials.dashboard_sessions import find_dead_sessions
from accounts.moments import over
from accounts.throttling.retention import find_expired
from projects.models import AlertDelivery, Batch, BatchItem, HourlyUsage, IdempotencyRecord, LongRequest, Sample
from projects.models.alert import KEPT_FOR as ALERTS_KEPT_FOR
from projects.models.batch import KEPT_FOR as BATCHES_KEPT_FOR
from projects.models.event_bounds import find_surplus_events
from projects.models.figures.sample import KEPT_FOR as SAMPLES_KEPT_FOR
from projects.models.idempotency import KEPT_FOR
from projects.models.processes.long_request import HELD_FOR
from projects.watcher.upkeep.steady_clock import SteadyClock

log = logging.getLogger(__name__)

EVERY = 3600.0
"""Seconds between two runs through all tables."""

BATCH = 500
"""The maximum number of rows that one statement deletes."""


class Retention:
    """Goes through the tables once an hour; each step deletes at most one batch, and nothing while the clock may be
    wrong.
    """

    def __init__(self) -> None:
        self._clock = SteadyClock()
        self._batches: Iterator[int] = iter(())
        self._again_at = 0.0

    def step(self) -> None:
        if not self._clock.is_trusted():
            self._batches = iter(())  # it goes by the time that the clock had when it began
        elif next(self._batches, None) is None and time.monotonic() >= self._again_at:
            self._again_at = time.monotonic() + EVERY
            self._batches = prune()


def prune() -> Iterator[int]:
    """Deletes old rows and yields the size of each batch. Logs an error in one table and continues with the next."""
    now = clock.now()
    for rows in (*find_expired(now), *find_dead_sessions(now), *_find_expired(now)):
        try:
            yield from _delete_in_batches(rows)
        except Exception:
            log.exception("Old rows of %s could not be deleted; the next run tries again.", rows.model.__name__)


def _find_expired(now: datetime) -> Iterator[QuerySet[Any]]:
    yield IdempotencyRecord.objects.filter(created_at__lte=now - KEPT_FOR)
    yield LongRequest.objects.filter(over("held_until", at_most=HELD_FOR, now=now))
    yield LogEntry.objects.filter(action_time__lt=now - timedelta(days=settings.BERTH_EVENTS_DAYS))
    yield HourlyUsage.objects.filter(hour__lt=now - timedelta(days=settings.BERTH_USAGE_DAYS))
    for minutes, kept_for in SAMPLES_KEPT_FOR.items():
        yield Sample.objects.filter(minutes=minutes, at__lt=now - kept_for)
    yield AlertDelivery.objects.filter(ended_at__lt=now - ALERTS_KEPT_FOR)
    yield AlertDelivery.objects.filter(ended_at=None, created_at__lt=now - ALERTS_KEPT_FOR)
    yield BatchItem.objects.filter(batch__created_at__lt=now - BATCHES_KEPT_FOR)
    yield Batch.objects.filter(created_at__lt=now - BATCHES_KEPT_FOR, items=None)
    yield from find_surplus_events(now)


def _delete_in_batches(rows: QuerySet[Any]) -> Iterator[int]:
    while keys := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        # Check the condition again, because a row may have been renewed since it was read.
        deleted, _ = rows.filter(pk__in=keys).delete()
        yield deleted
        if not deleted or len(keys) < BATCH:
            return
