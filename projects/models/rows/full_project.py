"""A project with everything that a command needs, read and written by compiled statements."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db import models, transaction

from accounts.database.compiled_instances import CompiledInstances
from accounts.database.compiled_query import CompiledQuery
from accounts.database.compiled_update import CompiledUpdate
from projects.errors import ProjectGoneError
from projects.models.event import Event
from projects.rules.status.lifecycle import Desired, Operation

_BESIDE = ("owner", "agent_type", "plan", "spending")
_HEARTBEAT = ("heartbeat_at", "watched_until")


class Conditions(NamedTuple):
    """What a new operation demands of the row, besides that no other operation holds it.

    - `is_deletion`: false demands that the project is not being deleted.
    - `unchanged`: no other operation has begun since the object was read.
    - `unless_suspended`: staff have not suspended the project.
    """

    is_deletion: bool
    unchanged: bool
    unless_suspended: bool


class WholeRow(models.Model):
    """A row that is read together with its owner, type, plan and spending."""

    generation: Any

    class Meta:
        abstract = True

    @classmethod
    def find_own(cls, owner_id: UUID, project_id: UUID) -> Self | None:
        """Returns the owner's project with this id and its watcher's heartbeat, or None."""
        found: Self | None = next(_own(cls).read(owner_id, project_id), None)
        return found

    @classmethod
    def command_rows(cls) -> CompiledInstances[Self]:
        """Returns the rows of a project without its owner, for a query that also finds the owner."""
        return _command_rows(cls)

    def has_operation(self, operation_id: UUID) -> bool:
        """Returns whether the row has this operation."""
        return bool(_in_operation(type(self)).rows(self.pk, operation_id))

    def reread(self) -> None:
        """Updates the object from its row. Raises `ProjectGoneError`."""
        if not _one(type(self)).refresh(self, self.pk):
            raise ProjectGoneError

    def write_if_held(self, operation_id: UUID, values: Mapping[str, Any], events: Sequence[Event] = ()) -> bool:
        """Writes to the row and adds the events if the row has this operation. Returns whether it did."""
        held = _held(type(self))
        if len(events) == 1:
            return bool(held.run_and_add(events[0], values, self.pk, operation_id))
        with transaction.atomic():
            if not held.run(values, self.pk, operation_id):
                return False
            Event.objects.bulk_create(events)
            return True

    def write_if_free(self, values: Mapping[str, Any], kind: Conditions, *, refresh: bool = False) -> bool:
        """Writes to the row if no operation holds it and it meets the conditions. Returns whether it did.

        `refresh`: also update the object from the row, but not its owner, type, plan and spending, as `reread` does.
        """
        free = _free(type(self), kind)
        found = (self.pk, self.generation) if kind.unchanged else (self.pk,)
        return free.run_and_refresh(self, values, *found) if refresh else bool(free.run(values, *found))

    def claimable(self, kind: Conditions) -> "models.QuerySet[Any]":
        """Returns a query for the row if it meets the conditions, even if an operation holds it."""
        return _claimable(type(self), kind, self.pk, self.generation)


@lru_cache
def _own(model: Any) -> CompiledInstances[Any]:
    def write(owner_id: UUID, project_id: UUID) -> "models.QuerySet[Any]":
        rows: models.QuerySet[Any] = model.objects.filter(pk=project_id, owner_id=owner_id).with_heartbeat().order_by()
        return rows

    return CompiledInstances(write, UUID(int=1), UUID(int=2), beside=_BESIDE, also=_HEARTBEAT)


@lru_cache
def _command_rows(model: Any) -> CompiledInstances[Any]:
    def write(project_id: UUID) -> "models.QuerySet[Any]":
        rows: models.QuerySet[Any] = model.objects.filter(pk=project_id).with_heartbeat().order_by()
        return rows

    return CompiledInstances(write, UUID(int=2), beside=_BESIDE[1:], also=_HEARTBEAT)


@lru_cache
def _in_operation(model: Any) -> CompiledQuery:
    def write(pk: UUID, operation_id: UUID) -> "models.QuerySet[Any]":
        rows: models.QuerySet[Any] = model.objects.filter(pk=pk, operation_id=operation_id).order_by()
        return rows.values_list("pk")

    return CompiledQuery(write, UUID(int=1), UUID(int=2))


@lru_cache
def _held(model: Any) -> CompiledUpdate:
    def find(pk: UUID, operation_id: UUID) -> "models.QuerySet[Any]":
        rows: models.QuerySet[Any] = model.objects.filter(pk=pk, operation_id=operation_id)
        return rows

    return CompiledUpdate(find, UUID(int=1), UUID(int=2))


@lru_cache
def _free(model: Any, kind: Conditions) -> CompiledUpdate:
    def find(pk: UUID, generation: int = 0) -> "models.QuerySet[Any]":
        return _claimable(model, kind, pk, generation).filter(operation=Operation.NONE)

    return CompiledUpdate(find, UUID(int=1), *([987_654_321] if kind.unchanged else []))


def _claimable(model: Any, kind: Conditions, pk: UUID, generation: int) -> "models.QuerySet[Any]":
    rows: models.QuerySet[Any] = model.objects.filter(pk=pk)
    if not kind.is_deletion:
        rows = rows.exclude(desired=Desired.DELETED)
    if kind.unchanged:
        rows = rows.filter(generation=generation)
    if kind.unless_suspended:
        rows = rows.filter(suspended_at=None)
    return rows


@lru_cache
def _one(model: Any) -> CompiledInstances[Any]:
    return CompiledInstances(lambda pk: model.objects.filter(pk=pk).order_by(), UUID(int=1), beside=_BESIDE)
