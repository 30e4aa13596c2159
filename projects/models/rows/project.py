"""Projects for reads: the few columns that a list shows, or one project without its credentials."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from accounts.database.compiled_query import CompiledQuery, make_instance
from accounts.models import User
from projects.models.columns.facts import RowFacts
from projects.models.figures.usage import Spending
from projects.models.project import Project
from projects.rules.budget import LIMITS, Budget


class _Columns(NamedTuple):
    id: UUID
    name: str
    plan_id: str
    created_at: datetime
    desired: str
    suspended_at: datetime | None
    operation: str
    operation_deadline: datetime | None
    updated_at: datetime
    observed_at: datetime | None
    reconcile_failures: int
    container_state: str
    health: str
    exit_code: int | None
    started_at: datetime | None
    agent_state: str
    agent_code: str
    gave_up_at: datetime | None
    failure_code: str
    budget_until: datetime | None
    seen_code: str
    seen_well: str
    is_behind_gateway: bool
    bot_id: int | None
    polled_at: datetime | None
    update_step: str
    update_until: datetime | None
    heartbeat_at: datetime | None
    watched_until: datetime | None


class ProjectRow(_Columns, RowFacts):
    """A project of an active owner. It derives its facts with the same functions as `Project`."""

    __slots__ = ()

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None


def own_rows(owner_id: UUID) -> "QuerySet[Project, Any]":
    """Returns the columns of the projects of an active owner, newest first, as named tuples."""
    return Project.objects.filter(owner_id=owner_id).with_heartbeat().values_list(*ProjectRow._fields, named=True)


class OwnRows:
    """The rows of an active owner's projects, newest first: all of them or a slice from the start.

    It has the part of a queryset's interface that a paginator needs for the first page. Further pages use `own_rows`.
    """

    def __init__(self, owner_id: UUID) -> None:
        self._owner_id = owner_id

    def order_by(self, *fields: str) -> "OwnRows":
        if list(fields) != Project._meta.ordering:
            raise ValueError("The rows have the order of the model only.")
        return self

    def __getitem__(self, wanted: slice) -> list[ProjectRow]:
        return list(map(ProjectRow._make, _compiled(wanted.stop).rows(self._owner_id)))


@lru_cache(maxsize=300)  # more than there are page sizes
def _compiled(limit: int | None) -> CompiledQuery:
    return CompiledQuery(lambda owner_id: own_rows(owner_id)[:limit], UUID(int=1))


_OF_GATEWAY = {"address", "entry_version", "gateway_node", "leaves_node", "sees_from", "budget_refused_at"}
_FIELDS = tuple(
    field.attname
    for field in Project._meta.concrete_fields
    if field.attname not in _OF_GATEWAY
    and (field.attname == "pairing_secret_ciphertext" or not field.attname.endswith("_ciphertext"))
)
_SPENDING = tuple(field.attname for field in Spending._meta.concrete_fields if not field.attname.endswith("_told"))
_OF_TYPE_AND_PLAN = ("agent_type__image_id", "agent_type__egress", "agent_type__allowed_models", "plan__allowed_models")
_OF_PLAN, _OF_SPENDING = (f"plan__{name}" for name in LIMITS), (f"spending__{name}" for name in _SPENDING)
_BESIDE = (*_OF_TYPE_AND_PLAN, "plan__disk_mb", *_OF_PLAN, *_OF_SPENDING)
SHOWN = (*_FIELDS, *_BESIDE, "heartbeat_at", "watched_until")
"""The columns of a project for showing it."""


def find_to_show(project_id: UUID) -> "QuerySet[Project, Any]":
    return Project.objects.filter(pk=project_id).with_heartbeat()


def make_shown(owner: User, values: Sequence[Any]) -> Project:
    """Builds the project from its columns. Its credentials, plan and type are read on first access."""
    *columns, heartbeat_at, watched_until = values
    project = make_instance(Project, _FIELDS, columns[: len(_FIELDS)])
    project.owner, project.heartbeat_at, project.watched_until = owner, heartbeat_at, watched_until
    image_id, egress, of_type, of_plan, disk_mb, *beside = columns[len(_FIELDS) :]
    project.cache_type_image(image_id)
    project.cache_permissions(egress=egress, of_type=of_type, of_plan=of_plan)
    project.cache_disk_limit(disk_mb)
    limits, spending = beside[: len(LIMITS)], beside[len(LIMITS) :]
    project.cache_plan_budget(Budget(**dict(zip(LIMITS, limits, strict=True))))
    has_spent = spending[0] is not None
    project.cache_spending(make_instance(Spending, _SPENDING, spending) if has_spent else None)
    return project


_ONE = CompiledQuery(
    lambda owner_id, project_id: find_to_show(project_id).filter(owner_id=owner_id).values_list(*SHOWN),
    UUID(int=1),
    UUID(int=2),
)


def read_own_project(owner: User, project_id: UUID) -> Project | None:
    return next((make_shown(owner, values) for values in _ONE.rows(owner.pk, project_id)), None)
