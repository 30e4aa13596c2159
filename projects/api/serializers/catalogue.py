"""Shapes of the catalogue on the wire."""

from typing import Any

from rest_framework import serializers

from containers.engine.images import Capability
from projects.api.serializers.budget import BudgetSerializer
from projects.models import AgentType, Plan
from projects.rules.named_providers import with_providers
from projects.rules.permissions import Egress

PROVIDERS = "providers"
"""The name in the context of the names of the providers that the staff have named, read once for all types."""


class NamesModelsSerializer(serializers.Serializer[Any]):
    """Of a plan or an agent type."""

    models = serializers.ListField(
        source="model_names",
        child=serializers.CharField(),
        allow_null=True,
        read_only=True,
        help_text="The models that its projects may use. Null: all. Where plan and type name some, what both name.",
    )


class PlanSerializer(NamesModelsSerializer, serializers.ModelSerializer[Plan]):
    """How much an agent gets of the machine and of its budget, and how many projects may have it."""

    cpus = serializers.FloatField()
    max_projects = serializers.IntegerField(
        source="owner_limit", min_value=1, help_text="How many projects you may have on it."
    )

    budget = BudgetSerializer(source="budget_facts", read_only=True)

    class Meta:
        model = Plan
        fields = ["slug", "memory_mb", "cpus", "disk_mb", "budget", "models", "max_projects", "is_default"]


class OfferedSchemaField(serializers.JSONField):
    """The schema of a type with the providers that the staff have named, whose names the context has."""

    def to_representation(self, value: Any) -> Any:
        return with_providers(value, self.context[PROVIDERS])


class AgentTypeSerializer(NamesModelsSerializer, serializers.ModelSerializer[AgentType]):
    """What an agent can be: what it does, what it needs, and which settings it takes."""

    egress = serializers.ChoiceField(
        source="least_egress", choices=Egress.choices, read_only=True, help_text="What its agents reach at most."
    )
    hosts = serializers.ListField(
        source="host_names",
        child=serializers.CharField(),
        read_only=True,
        help_text="Hosts that its agents reach through the gateway. `HTTPS_PROXY` names it where they reach it alone.",
    )

    default_models = serializers.DictField(
        source="models_by_provider",
        child=serializers.CharField(),
        read_only=True,
        help_text="The model of a project that names none, by its provider or for `any`. Else the image chooses.",
    )
    capabilities = serializers.ListField(
        source="capability_names",
        child=serializers.ChoiceField([each.value for each in Capability]),
        read_only=True,
        help_text="What its image declares, as the engine said within the last minutes.",
    )

    settings_schema = OfferedSchemaField(read_only=True, help_text="JSON Schema of a project's settings.")

    class Meta:
        model = AgentType
        fields = [
            "slug",
            "title",
            "description",
            "capabilities",
            "default_models",
            "needs_telegram_token",
            "needs_api_key",
            "settings_schema",
            "min_memory_mb",
            "stop_timeout",
            "egress",
            "hosts",
            "models",
            "is_default",
        ]
