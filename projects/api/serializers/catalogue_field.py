"""Fields for choosing from the catalogue, and the check that a plan is large enough for a type."""

from functools import lru_cache
from typing import Any
from uuid import uuid4

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.api.fields import StrictCharField
from accounts.database.compiled_instances import CompiledInstances
from accounts.text import join_first
from projects.models import AgentType, Plan, Project, find_offered_plan, plans_offered_to


@extend_schema_field({"type": "string"})
class CatalogueField(StrictCharField):
    """Takes the slug of an available row. `get_default_row` returns the row for a request that names none."""

    def __init__(self, *, queryset: QuerySet[Any], **kwargs: Any) -> None:
        self.queryset = queryset
        super().__init__(max_length=40, **kwargs)

    def available_rows(self) -> QuerySet[Any]:
        return self.queryset.all().filter(available=True)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Returns the row. Overrides this method because the base class's validators need the slug."""
        slug = super().run_validation(data)
        row = self.find(slug)
        if row is None:
            raise serializers.ValidationError(self._choices(), code="unknown_choice")
        return row

    def find(self, slug: str) -> Any:
        """Returns the row if it is one of `available_rows`, else None."""
        model: Any = self.queryset.model
        return next(_available(model).read(slug), None)

    def to_representation(self, value: Any) -> str:
        return str(value.pk)

    def get_default_row(self) -> Any:
        row = self.available_rows().filter(is_default=True).first()
        if row is None:
            raise serializers.ValidationError({str(self.field_name): [self._required()]})
        return row

    def _required(self) -> Any:
        return serializers.ErrorDetail(f"There is no default. {self._choices()}", code="required")

    def _choices(self) -> str:
        slugs = join_first(self.available_rows().values_list("slug", flat=True))
        return f"Choose one of: {slugs}." if slugs else "None is open to you. Ask the staff."


class PlanField(CatalogueField):
    """Takes the slug of a plan that the owner may choose, or of the project's present plan.

    The owner is that of the project to change, or else the serializer's `context["owner"]`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(queryset=Plan.objects.all(), **kwargs)

    def available_rows(self) -> QuerySet[Plan]:
        project = self._project
        return plans_offered_to(project.owner if project else self.context["owner"])

    def find(self, slug: str) -> Any:
        project = self._project
        if project is None:
            return find_offered_plan(self.context["owner"], slug)
        return project.plan if project.plan_id == slug else find_offered_plan(project.owner, slug)

    @property
    def _project(self) -> Project | None:
        return getattr(self.parent, "instance", None)


@lru_cache
def _available(model: Any) -> CompiledInstances[Any]:
    return CompiledInstances(lambda slug: model.objects.filter(available=True, slug=slug).order_by(), uuid4().hex)


def check_memory(agent_type: AgentType, plan: Plan) -> None:
    """Raises the REST framework's `ValidationError` if the plan has less memory than the type needs."""
    if plan.memory_mb < agent_type.min_memory_mb:
        message = f"The {agent_type.slug} agent needs {agent_type.min_memory_mb} MB of memory. Choose a larger plan."
        raise serializers.ValidationError({"plan": [serializers.ErrorDetail(message, code="plan_too_small")]})
