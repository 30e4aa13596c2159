"""Projects as the watcher compares them with the engine: the columns that decide whether there is anything to do."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Case, Q, QuerySet, Value, When

from accounts import moments
from containers.vocabulary import ContainerState, Health, Observation
from projects.models.columns.at_rest import AT_REST
from projects.models.project import Project
from projects.rules.status.derivation import AWAITING_POLL
from projects.rules.status.lifecycle import CRASH_LIMIT, Desired, Operation

KEYS_AT_ONCE = 1000
"""The maximum number of keys in one query."""


class WatchedRow(NamedTuple):
    id: UUID
    created_at: datetime
    generation: int
    container_id: str
    crash_count: int
    is_owner_active: bool
    observed_at: datetime | None
    updated_at: datetime
    desired: str
    suspended_at: datetime | None
    gave_up_at: datetime | None
    failure_code: str
    operation: str
    reconcile_failures: int
    reconcile_again_at: datetime | None
    container_state: str
    health: str
    exit_code: int | None
    agent_state: str
    agent_code: str
    update_step: str

    def is_well(self, seen: Observation, *, now: datetime, is_known_run: bool = False) -> bool:
        """Returns whether nothing is to be written or done if a list calls this container running and healthy.

        `is_known_run`: “running” is enough for a container without a health check (`find_unchecked_runs`).
        """
        is_same = seen.container_id == self.container_id and seen.generation == self.generation
        is_enough = seen.is_complete or (is_known_run and _runs_unchecked(seen))
        is_plain = seen.is_brief and is_enough and not (seen.is_silent or seen.has_drifted)
        is_sound = self.is_owner_active and self.crash_count < CRASH_LIMIT and not self.has_future_moments(now)
        well = (_WELL,) if seen.is_complete else _WELL_UNCHECKED
        return is_same and is_plain and is_sound and self[_FIRST:] in well

    def has_future_moments(self, now: datetime) -> bool:
        latest = now + moments.CLOCKS_DIFFER
        return self.updated_at > latest or (self.observed_at is not None and self.observed_at > latest)


class RecordedRun(NamedTuple):
    """The last run of a project's container, as its row shows it. The times are the engine's."""

    container_id: str
    container_state: str
    started_at: datetime | None
    finished_at: datetime | None


_FIRST = WatchedRow._fields.index("desired")
_WELL = (Desired.RUNNING, None, None, "", "", 0, None, ContainerState.RUNNING, Health.HEALTHY, None, "running", "", "")
_UNCHECKED = dict(zip(WatchedRow._fields[_FIRST:], _WELL, strict=True)) | {"health": Health.NONE}
_WELL_UNCHECKED = tuple(tuple((_UNCHECKED | {"agent_state": state}).values()) for state in ("running", ""))
_COLUMNS = [{"is_owner_active": "owner__is_active"}.get(name, name) for name in WatchedRow._fields]


def _rows() -> "QuerySet[Project, tuple[Any, ...]]":
    here = Project.objects.filter(instance=settings.BERTH_INSTANCE)
    return here.order_by().values_list(*_COLUMNS)


def _runs_unchecked(seen: Observation) -> bool:
    return seen.state is ContainerState.RUNNING and seen.health is Health.NONE


def find_unchecked_runs(*, now: datetime) -> dict[str, datetime]:
    """Returns the runs of agents that are well but whose containers have no health check: their starts, by key.

    A new run is among them as soon as it has reported that it runs, or when it no longer has to report anything.
    Returns none on a Swarm, which knows no health checks: there, inspecting a container reveals no more than the list.
    """
    if settings.BERTH_ENGINE == "swarm":
        return {}
    reported = Q(agent_state="running") | Q(agent_state="", started_at__lt=now - AWAITING_POLL)
    others = {name: value for name, value in _UNCHECKED.items() if name != "agent_state"}
    well = {
        f"{name}__isnull" if value is None else name: True if value is None else value for name, value in others.items()
    }
    runs = _rows().filter(~AT_REST, reported, **well).values_list("pk", "started_at")
    return {str(pk): since for pk, since in runs if since}


def find_watched(keys: Collection[UUID], *, now: datetime) -> dict[UUID, WatchedRow]:
    """Returns the rows with these keys, those that are not at rest, and those that seem written in the future.

    Reads no other rows, so its cost does not depend on their number.
    """
    # The values are in the SQL text, because a prepared statement for any value could not use a partial index.
    found = _read([_rows().filter(~AT_REST)])
    return found | _read([_rows().filter(moments.future("updated_at", now=now)), *_with(set(keys) - found.keys())])


def without_operations(keys: Collection[UUID]) -> dict[UUID, RecordedRun]:
    """Returns the rows that no operation holds."""
    rows = Project.objects.filter(pk__in=keys, instance=settings.BERTH_INSTANCE, operation=Operation.NONE)
    return {pk: RecordedRun(*run) for pk, *run in rows.order_by().values_list("pk", *RecordedRun._fields)}


def compare_all(keys: Collection[UUID], *, now: datetime) -> dict[UUID, WatchedRow]:
    """Returns the same by scanning the whole table, so that no broken index can hide a row."""
    future = moments.future("updated_at", now=now) | moments.future("observed_at", now=now)
    looked_at = Case(When(AT_REST & ~future, then=Value(value=False)), default=Value(value=True))
    return _read([_rows().alias(looked_at=looked_at).filter(looked_at=Value(value=True)), *_with(keys)])


def _with(keys: Collection[UUID]) -> Iterator["QuerySet[Project, tuple[Any, ...]]"]:
    wanted = list(keys)
    for first in range(0, len(wanted), KEYS_AT_ONCE):
        yield _rows().filter(pk__in=wanted[first : first + KEYS_AT_ONCE])


def _read(queries: Iterable["QuerySet[Project, tuple[Any, ...]]"]) -> dict[UUID, WatchedRow]:
    return {row.id: row for query in queries for row in map(WatchedRow._make, query)}
