"""A project with all that a command needs, by statements that are written once."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db import models

from accounts.compiled_instances import CompiledInstances
from accounts.compiled_query import CompiledQuery
from accounts.compiled_update import CompiledUpdate
from projects.errors import ProjectGoneError
from projects.rules.status.lifecycle import Desired, Operation

_BESIDE = ("owner", "agent_type", "plan", "spending")
_HEARTBEAT = ("heartbeat_at", "watched_until")


class Conditions(NamedTuple):
    """What a new operation asks of the row beside that no other one holds it: nobody wants it deleted, but for a
    deletion; no other one has begun since the object was read; staff have not suspended it.
    """

    is_deletion: bool
    unchanged: bool
    unless_suspended: bool


class WholeRow(models.Model):
    """A row that is read with its owner, its type, its plan, and what it has spent."""

    generation: Any

    class Meta:
        abstract = True

    @classmethod
    def find_own(cls, owner_id: UUID, project_id: UUID) -> Self | None:
        """The owner's project of this id, with the heartbeat of its watcher."""
        found: Self | None = next(_own(cls).read(owner_id, project_id), None)
        return found

    def has_operation(self, operation_id: UUID) -> bool:
        """Whether this is the operation in its row."""
        return bool(_in_operation(type(self)).rows(self.pk, operation_id))

    def reread(self) -> None:
        """Has the object say what its row says now. Raises `ProjectGoneError`."""
        if not _one(type(self)).refresh(self, self.pk):
            raise ProjectGoneError

    def write_if_held(self, operation_id: UUID, values: Mapping[str, Any]) -> bool:
        """Writes to the row where this is the operation in it."""
        return bool(_held(type(self)).run(values, self.pk, operation_id))

    def write_if_free(self, values: Mapping[str, Any], kind: Conditions) -> bool:
        """Writes to the row where no operation holds it and nothing else stands in the way of the next one."""
        found = (self.pk, self.generation) if kind.unchanged else (self.pk,)
        return bool(_free(type(self), kind).run(values, *found))

    def claimable(self, kind: Conditions) -> "models.QuerySet[Any]":
        """The row, if nothing but an operation in flight stands in the way of the next one."""
        return _claimable(type(self), kind, self.pk, self.generation)


@lru_cache
def _own(model: Any) -> CompiledInstances[Any]:
    def write(owner_id: UUID, project_id: UUID) -> "models.QuerySet[Any]":
        rows: models.QuerySet[Any] = model.objects.filter(pk=project_id, owner_id=owner_id).with_heartbeat().order_by()
        return rows

    return CompiledInstances(write, UUID(int=1), UUID(int=2), beside=_BESIDE, also=_HEARTBEAT)


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
