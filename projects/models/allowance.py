"""Which users may choose which plan, and how many projects they may have on it."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from accounts.database.compiled_instances import CompiledInstances
from accounts.database.compiled_query import CompiledQuery
from projects.models.catalogue import Plan
from projects.models.project import Project

if TYPE_CHECKING:
    from accounts.models import User


class Allowance(models.Model):
    """The number of projects that staff allow one user on a plan, instead of the plan's general limit."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="allowances")
    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="allowances")
    max_projects = models.PositiveIntegerField(
        "projects",
        null=True,
        blank=True,
        help_text="Empty: as many as the plan says. 0: none, not even where it is open.",
    )

    class Meta:
        ordering = ["user__email", "plan"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "plan"],
                name="one_allowance_per_user_and_plan",
                violation_error_message="This user has an allowance for this plan already. Change that one.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.plan_id} for {self.user}"


def plans_offered_to(user: "User") -> QuerySet[Plan]:
    """Returns the plans that this user may choose now. `owner_limit` of each is their limit of projects on it."""
    offered: QuerySet[Plan] = _with_limit(user.pk, is_admin=user.is_superuser).filter(available=True, owner_limit__gt=0)
    return offered


def find_offered_plan(user: "User", slug: str) -> Plan | None:
    """Returns the plan of `plans_offered_to` with this slug, or None."""
    return next(_offer_of(is_admin=user.is_superuser).read(user.pk, slug), None)


@lru_cache
def _offer_of(*, is_admin: bool) -> CompiledInstances[Plan]:
    def write(user_id: UUID, slug: str) -> QuerySet[Plan]:
        plans: QuerySet[Plan] = _with_limit(user_id, is_admin=is_admin).filter(available=True, owner_limit__gt=0)
        return plans.filter(slug=slug).order_by()

    return CompiledInstances(write, uuid4(), uuid4().hex, also=("owner_limit",))


def plans_with_room(user: "User") -> QuerySet[Plan]:
    """Returns the same plans, each with the number of projects that the user has on it (`held`)."""
    plans: Any = plans_offered_to(user)  # mypy takes the annotation for an attribute of the plan
    with_room: QuerySet[Plan] = plans.annotate(held=_held_by(user.pk))
    return with_room


def read_room(user: "User", plan: Plan) -> tuple[int, int]:
    """Returns how many projects the user may have on the plan (0 if it is not open to them), and how many they have."""
    for limit, count in _room_of(is_admin=user.is_superuser).rows(user.pk, plan.pk):
        return limit or 0, count
    return 0, 0


@lru_cache
def _room_of(*, is_admin: bool) -> CompiledQuery:
    """Compiles the query for `read_room`, which every deploy runs twice."""

    def write(user_id: UUID, plan_id: str) -> "QuerySet[Plan, Any]":
        plan = _with_limit(user_id, is_admin=is_admin).annotate(held=_held_by(user_id)).filter(pk=plan_id).order_by()
        room: QuerySet[Plan, Any] = plan.values_list("owner_limit", "held")
        return room

    return CompiledQuery(write, uuid4(), uuid4().hex)


def _held_by(user_id: UUID) -> Coalesce:
    own = Project.objects.owned_by(user_id).live().filter(plan=OuterRef("pk")).order_by().values("plan")
    return Coalesce(Subquery(own.annotate(count=Count("pk")).values("count")), 0)


def _with_limit(user_id: UUID, *, is_admin: bool) -> Any:  # mypy does not know annotations as attributes
    """Annotates plans with `owner_limit`. An allowance takes precedence.

    Without one, the default plan and plans open to all are open to everyone, and every plan to admins.
    """
    is_open = Q(is_default=True) | Q(open_to_all=True)
    by_default = F("max_projects") if is_admin else Case(When(is_open, then="max_projects"), default=Value(0))
    own = Allowance.objects.filter(user=user_id, plan=OuterRef("pk"))
    limit = own.annotate(limit=Coalesce(F("max_projects"), OuterRef("max_projects"))).values("limit")
    plans: Any = Plan.objects
    return plans.annotate(owner_limit=Coalesce(Subquery(limit), by_default))
