"""A project with all that a command needs, by statements that are written once."""

from functools import lru_cache
from typing import Any, Self
from uuid import UUID

from django.db import models

from accounts.compiled_instances import CompiledInstances
from accounts.compiled_query import CompiledQuery
from projects.errors import ProjectGoneError

_BESIDE = ("owner", "agent_type", "plan", "spending")
_HEARTBEAT = ("heartbeat_at", "watched_until")


class WholeRow(models.Model):
    """A row that is read with its owner, its type, its plan, and what it has spent."""

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
def _one(model: Any) -> CompiledInstances[Any]:
    return CompiledInstances(lambda pk: model.objects.filter(pk=pk).order_by(), UUID(int=1), beside=_BESIDE)
