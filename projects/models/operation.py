"""Rows on which one operation at a time may work: claim, act, record."""

import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts import clock, moments
from projects.errors import ProjectGoneError
from projects.models.columns.operation import at_rest, in_flight
from projects.models.event import Event
from projects.models.idempotency import GONE, IdempotencyRecord
from projects.models.operation_times import note_duration
from projects.models.processes.holder import MOST, has_ended
from projects.models.rows.full_project import Conditions, WholeRow
from projects.rules.status.lifecycle import LONGEST_CLAIM, Desired, Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to work on a project. `contested`: another operation was in flight, and its process may still act.
    `is_first`: no earlier request had the project's id. `began` is on the monotonic clock.
    """

    id: uuid.UUID
    generation: int
    contested: bool
    is_first: bool = False
    began: float = field(default_factory=time.monotonic, compare=False)


class Claimable(WholeRow):
    """The desired state and the operation in flight.

    Only the holder of `operation_id` may record an outcome. After the deadline any process may claim the project; the
    watcher need not wait for it if the holder is known to have ended.
    """

    desired = models.CharField(max_length=10, choices=Desired, default=Desired.RUNNING, editable=False)
    generation = models.PositiveIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    suspended_at = models.DateTimeField(null=True, editable=False)
    suspended_because = models.CharField(max_length=200, blank=True, default="", db_default="", editable=False)
    operation = models.CharField(max_length=10, choices=Operation, blank=True, editable=False)
    operation_id = models.UUIDField(null=True, editable=False)
    operation_deadline = models.DateTimeField(null=True, editable=False)
    operation_holder = models.CharField(max_length=MOST, blank=True, default="", db_default="", editable=False)

    class Meta(WholeRow.Meta):
        abstract = True

    def claim(
        self,
        operation: Operation,
        *,
        lasting: timedelta,
        preempting: frozenset[Operation] = frozenset(),
        unchanged: bool = False,
        unless_suspended: bool = False,
        renew: bool = True,
        only: Q | None = None,
        **values: Any,
    ) -> "Claim | None":
        """Claims the project for an operation by one conditional UPDATE. Returns None if another operation holds it.

        `lasting`: how long the claim is valid; after that any process may claim the project.
        `preempting`: kinds of operations in flight that give way to this one.
        `unchanged`: also return None if another operation has begun since this object was read.
        `unless_suspended`: also return None if staff have suspended the project.
        `renew`: begin a new generation, so that the container is replaced; otherwise it may stay.
        `only`: also return None if the row does not match this condition.
        `values`: further fields to set in the same statement.

        Raises `ProjectGoneError`.
        """
        now, claim_id = clock.now(), uuid.uuid4()
        values |= {
            **in_flight(operation, claim_id, until=now + lasting),
            "generation": F("generation") + int(renew),
            "entry_version": F("entry_version") + 1,
            "updated_at": now,
        }
        kind = Conditions(operation == Operation.DELETE, unchanged, unless_suspended)
        over = _expired(now) | Q(operation__in=preempting)
        is_stop = operation == Operation.STOP  # which needs nothing current of the project's plan, type and spending
        is_free = only is None and self.write_if_free(values, kind, refresh=is_stop)
        contested = False if is_free else _seize(self.claimable(kind).filter(only or Q()), values, over=over)
        if contested is None:
            return None
        if not (is_free and is_stop):
            self.reread()
        is_held = self.operation_id == claim_id  # otherwise another process preempted it at once
        return Claim(id=claim_id, generation=self.generation, contested=contested) if is_held else None

    def want(self, *, during: Operation | None = None, **values: Any) -> bool:
        """Writes the desired state, which the operation in flight or the watcher then brings about.

        Writes nothing and returns False if the project is being deleted, or another operation than `during` is in
        flight, if given.
        """
        rows = self._row().exclude(desired=Desired.DELETED).filter(Q() if during is None else Q(operation=during))
        if not rows.update(**values, entry_version=F("entry_version") + 1):
            return False
        self.reread()
        return True

    def holds(self, claim: "Claim") -> bool:
        return self.has_operation(claim.id)

    def record(self, claim: "Claim", *, events: Iterable[Event] = (), **values: Any) -> bool:
        """Ends the operation and writes its outcome and events in one transaction.

        Writes nothing and returns False if another operation has taken over the project.
        """
        written, operation = values | at_rest(), self.operation
        if not self.write_if_held(claim.id, written, tuple(events)):
            return False
        note_duration(operation, since=claim.began)
        for name, value in written.items():
            setattr(self, name, value)
        return True

    def record_deletion(self, claim: "Claim", *, events: Iterable[Event] = ()) -> bool:
        """Deletes the row and writes the events in one transaction. Returns False like `record`.

        Also erases the stored response for retries of the creation, which has the name and the settings.
        """
        with transaction.atomic():
            deleted, _ = self._row().filter(operation_id=claim.id).delete()
            if deleted:
                IdempotencyRecord.objects.filter(project_id=self.pk).update(answer=GONE)
                Event.objects.bulk_create(events)
        note_duration(Operation.DELETE if deleted else Operation.NONE, since=claim.began)
        return bool(deleted)

    def release_abandoned(self, **values: Any) -> bool:
        """Ends an operation past its deadline or whose process has ended, and writes `values`. Its holder loses the
        claim.

        Returns False if the operation is still valid, has ended, or was replaced since this object was read.
        """
        written = values | at_rest()
        abandoned = Q() if has_ended(self.operation_holder, self.operation_id) else _expired(clock.now())
        rows = self._row().filter(abandoned, operation_id=self.operation_id)
        if not rows.update(**written):
            return False
        for name, value in written.items():
            setattr(self, name, value)
        return True

    def _row(self) -> "models.QuerySet[Any]":
        return type(self)._default_manager.filter(pk=self.pk)

    def refresh_from_db(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().refresh_from_db(*args, **kwargs)
        except type(self).DoesNotExist:
            raise ProjectGoneError from None


def _seize(rows: "models.QuerySet[Any]", values: dict[str, Any], *, over: Q) -> bool | None:
    """Writes the claim. Returns whether an operation gave way to it, or None if one is in flight that does not."""
    free = Q(operation=Operation.NONE)
    giving_way = ~free & over
    while True:
        if rows.filter(free).update(**values):
            return False
        if rows.filter(giving_way).update(**values):
            return True
        # The other operation may have ended between the two statements; then try again.
        if not rows.filter(free | giving_way).exists():
            return None


def _expired(now: datetime) -> Q:
    return moments.over("operation_deadline", at_most=LONGEST_CLAIM, now=now)


def operation_is_whole(name: str) -> models.CheckConstraint:
    """Returns the constraint that an operation, its id and its deadline are either all set or all empty."""
    kinds = [value for value in Operation.values if value]
    none = Q(operation=Operation.NONE, operation_id=None, operation_deadline=None)
    whole = Q(operation__in=kinds, operation_id__isnull=False, operation_deadline__isnull=False)
    return models.CheckConstraint(condition=none | whole, name=name)
