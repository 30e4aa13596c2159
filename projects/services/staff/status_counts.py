"""How many projects have which status, in one statement, whatever their number.

Rows of which the status depends on no time that runs out are grouped by the columns that it follows from, and a row of
each group is asked for the status as any other. Each of the rest is a group of its own.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import BooleanField, Case, Count, ExpressionWrapper, F, Max, Q, UUIDField, Value, When

from accounts import clock, moments
from projects.models import Project, Watch
from projects.models.rows.facts import RowFacts
from projects.rules.status.derivation import AWAITING, derive_status
from projects.rules.status.lifecycle import FRESH_FOR, Operation
from projects.rules.status.statuses import Status

_KEYS = (
    *("instance", "desired", "operation", "reconcile_failures", "container_state", "health", "exit_code"),
    *("agent_state", "agent_code", "failure_code", "seen_code", "seen_well", "is_behind_gateway"),
)
_MOMENTS = ("operation_deadline", "updated_at", "observed_at", "started_at", "gave_up_at", "budget_until", "polled_at")
"""Of a group of several rows the latest of each: what the status follows from is the same for all."""


class _Columns(NamedTuple):
    instance: str
    desired: str
    operation: str
    reconcile_failures: int
    container_state: str
    health: str
    exit_code: int | None
    agent_state: str
    agent_code: str
    failure_code: str
    seen_code: str
    seen_well: str
    is_behind_gateway: bool
    is_suspended: bool
    operation_deadline: datetime | None
    updated_at: datetime
    observed_at: datetime | None
    started_at: datetime | None
    gave_up_at: datetime | None
    budget_until: datetime | None
    polled_at: datetime | None
    bot_id: int | None
    heartbeat_at: datetime | None
    watched_until: datetime | None
    update_step: str = ""  # no status follows from these two
    update_until: datetime | None = None


class _Group(_Columns, RowFacts):
    __slots__ = ()


def count_projects() -> Counter[tuple[str, Status]]:
    """By the type and the status, of all instances."""
    now = clock.now()
    watches = {watch.instance: watch for watch in Watch.objects.only("instance", "heartbeat_at", "lease_until")}
    counts: Counter[tuple[str, Status]] = Counter()
    for row in _group(now, watches):
        watch = watches.get(row["instance"])
        group = _Group(
            **{name: row[name] for name in _KEYS},
            **{name: row[f"latest_{name}"] for name in _MOMENTS},
            is_suspended=row["is_held"] or not row["owner__is_active"],
            bot_id=row["any_bot"],
            heartbeat_at=watch.heartbeat_at if watch else None,
            watched_until=watch.lease_until if watch else None,
        )
        counts[row["agent_type_id"], derive_status(group.facts(now))] += row["number"]
    return counts


def _group(now: datetime, watches: Mapping[str, Watch]) -> Any:
    is_seen = _is_seen(now, watches)
    alone = Case(When(_is_steady(now, is_seen), then=Value(None)), default=F("pk"), output_field=UUIDField(null=True))
    keys = {
        "alone": alone,
        "is_seen": Case(When(is_seen, then=Value(value=True)), default=Value(value=False)),
        "is_held": _is(Q(suspended_at__isnull=False)),
        "has_given_up": _is(Q(gave_up_at__isnull=False)),
        "has_started": _is(Q(started_at__isnull=False)),
    }
    rows = Project.objects.order_by().annotate(**keys)
    latest = {f"latest_{name}": Max(name) for name in _MOMENTS}
    found = rows.values(*_KEYS, *keys, "agent_type_id", "owner__is_active")
    return found.annotate(number=Count("pk"), any_bot=Max("bot_id"), **latest)


def _is(condition: Q) -> "ExpressionWrapper[Q]":
    return ExpressionWrapper(condition, output_field=BooleanField())


def _is_seen(now: datetime, watches: Mapping[str, Watch]) -> Q:
    """The watcher has lately found that the engine has what the row says."""
    seen = Q(pk__in=())
    for watch in watches.values():
        if moments.is_recent(watch.heartbeat_at, within=FRESH_FOR, now=now):
            seen |= Q(instance=watch.instance, updated_at__lte=watch.heartbeat_at)
    return seen


def _is_steady(now: datetime, is_seen: Q) -> Q:
    """Either seen by the watcher, or by nobody lately; and ready for so long that it has settled, if it was started."""
    undisturbed = Q(operation=str(Operation.NONE), reconcile_failures=0, budget_until=None)
    unseen = ~is_seen & moments.not_recent("observed_at", within=FRESH_FOR, now=now) & ~Q(observed_at=now - FRESH_FOR)
    settled = Q(started_at=None) | Q(started_at__lte=now - AWAITING) | moments.future("started_at", now=now)
    return undisturbed & settled & (is_seen | unseen)
