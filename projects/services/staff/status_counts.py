"""Counts projects by status with one statement, no matter how many projects there are.

It groups rows by the columns on which the status depends, and derives the status once per group. Rows at rest may be by
far the most; their status depends on few columns, which an index covers. Each row whose status depends on the present
time is a group of its own.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import BooleanField, Case, Count, F, Max, Q, QuerySet, UUIDField, Value, When

from accounts import clock, moments
from accounts.models import User
from containers.vocabulary import ContainerState, Health
from projects.models import Project, Watch
from projects.models.columns.at_rest import AT_REST
from projects.models.columns.facts import RowFacts
from projects.rules.status.derivation import AWAITING_POLL, DECISIVE_STATES, derive_status
from projects.rules.status.lifecycle import FRESH_FOR, Operation
from projects.rules.status.statuses import Status

_ITS = "its_"
"""The prefix of a project's columns in the rows of the statement."""

_OF_WATCH = ("instance", "heartbeat_at", "lease_until", "holds_repairs")
_ALWAYS = ("agent_type_id", "instance", "desired", "failure_code")
_AT_REST = {
    "operation": str(Operation.NONE),
    "reconcile_failures": 0,
    "container_state": "",
    "health": str(Health.NONE),
}
_WHERE_UP = dict.fromkeys(("agent_state", "agent_code", "seen_code", "seen_well"), "") | {
    "exit_code": None,
    "is_behind_gateway": False,
}
"""The columns by which rows are grouped. Rows at rest always have the values in `_AT_REST`, and the columns in
`_WHERE_UP` do not matter for them."""

_MOMENTS = ("updated_at", "observed_at", "gave_up_at")
_WHERE_MOVED = ("operation_deadline", "started_at", "budget_until", "polled_at", "bot_id")
"""Columns of which the latest value of a group is used, and any bot: all values in a group lead to the same status."""

_SUSPENDED = f"{_ITS}is_suspended"


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
    """Counts the projects of all instances by type and status."""
    now = clock.now()
    watches = {watch.instance: watch for watch in Watch.objects.only(*_OF_WATCH)}
    is_seen = _is_seen(now, watches)
    counts: Counter[tuple[str, Status]] = Counter()
    for row in _group_moved(now, is_seen).union(_group_plain(is_seen), _group_resting(now, is_seen), all=True):
        columns = {name.removeprefix(_ITS): value for name, value in row.items() if name.startswith(_ITS)}
        kind, watch = columns.pop("agent_type_id"), watches.get(columns["instance"])
        group = _Group(
            **columns,
            heartbeat_at=watch.heartbeat_at if watch else None,
            watched_until=watch.repairs_until if watch else None,
        )
        counts[kind, derive_status(group.facts(now))] += row["number"]
    return counts


def _group_moved(now: datetime, is_seen: Q) -> Any:
    """Groups the rows that are not at rest."""
    alone = Case(When(_is_steady(now), then=Value(None)), default=F("pk"), output_field=UUIDField(null=True))
    columns = {name: F(name) for name in (*_AT_REST, *_WHERE_UP)}
    latest = {name: Max(name) for name in _WHERE_MOVED}
    keys = {"alone": alone, **_find_same(now, is_seen)}
    return _count(Project.objects.filter(~AT_REST), columns, keys, latest)


def _group_plain(is_seen: Q) -> Any:
    """Groups the rows at rest that the watcher has recently confirmed and that are not suspended, without sorting."""
    no = Value(value=False)
    keys = dict.fromkeys((_SUSPENDED, "is_seen", "is_lately", "has_given_up"), no)
    return _count(_at_rest(is_seen, plain=True), _as_at_rest(), {"alone": _of_column("id", None), **keys}, _never())


def _group_resting(now: datetime, is_seen: Q) -> Any:
    """Groups the other rows at rest: all of them if no watcher is at work."""
    keys = {"alone": _of_column("id", None), **_find_same(now, is_seen)}
    return _count(_at_rest(is_seen, plain=False), _as_at_rest(), keys, _never())


def _at_rest(is_seen: Q, *, plain: bool) -> "QuerySet[Project]":
    return Project.objects.alias(is_plain=_is(is_seen & ~_is_held())).filter(AT_REST, is_plain=Value(value=plain))


def _as_at_rest() -> dict[str, Any]:
    return {name: _of_column(name, value) for name, value in (_AT_REST | _WHERE_UP).items()}


def _never() -> dict[str, Any]:
    return {name: _of_column(name, None) for name in _WHERE_MOVED}


def _count(
    rows: "QuerySet[Project]", columns: Mapping[str, Any], keys: Mapping[str, Any], more: Mapping[str, Any]
) -> Any:
    """Groups the rows by `columns` and `keys`. All results have the same columns in the same order."""
    grouped = {_ITS + name: F(name) for name in _ALWAYS} | {_ITS + name: each for name, each in columns.items()}
    found = rows.order_by().annotate(**grouped, **keys).values(*grouped, *keys)
    latest = {name: Max(name) for name in _MOMENTS} | dict(more)
    return found.annotate(number=Count("*"), **{_ITS + name: each for name, each in latest.items()})


def _find_same(now: datetime, is_seen: Q) -> dict[str, Any]:
    """Returns further expressions that are the same for all rows of a group."""
    lately = Q(observed_at__gte=now - FRESH_FOR, observed_at__lte=now + moments.CLOCKS_DIFFER)
    return {
        _SUSPENDED: _is(_is_held()),
        "is_seen": _is(is_seen),
        "is_lately": _is(lately),
        "has_given_up": _is(Q(gave_up_at__isnull=False)),
    }


def _is_held() -> Q:
    return Q(suspended_at__isnull=False) | Q(owner__in=User.objects.filter(is_active=False))


def _of_column(name: str, value: Any) -> Value:
    field: Any = Project._meta.get_field(name)
    return Value(value, output_field=field)


def _is(condition: Q) -> Case:
    return Case(When(condition, then=Value(value=True)), default=Value(value=False), output_field=BooleanField())


def _is_seen(now: datetime, watches: Mapping[str, Watch]) -> Q:
    """Returns the condition that the watcher has recently found the row to agree with the engine."""
    seen = Q(pk__in=())
    for watch in watches.values():
        if moments.is_recent(watch.heartbeat_at, within=FRESH_FOR, now=now):
            seen |= Q(instance=watch.instance, updated_at__lte=watch.heartbeat_at)
    return seen


def _is_steady(now: datetime) -> Q:
    """Returns the condition that the status no longer depends on the time: nothing is under way, and the agent has
    reported its state or has run long enough to have settled.
    """
    undisturbed = Q(operation=str(Operation.NONE), budget_until=None)
    tells = ~Q(container_state=str(ContainerState.RUNNING), health=str(Health.NONE))
    tells |= Q(agent_state__in=sorted(DECISIVE_STATES))
    settled = Q(started_at__lte=now - AWAITING_POLL) | moments.future("started_at", now=now)
    return undisturbed & (tells | settled)
