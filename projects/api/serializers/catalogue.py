"""The catalogue in the API."""

from typing import Any

from rest_framework import serializers

from containers.engine.images import Capability
from projects.api.serializers.budget import BudgetSerializer
from projects.models import AgentType, Plan
from projects.rules.named_providers import with_providers
from projects.rules.permissions import Egress

PROVIDERS = "providers"
"""The context's key for the names of the providers that staff added, which are read once for all types."""


class NamesModelsSerializer(serializers.Serializer[Any]):
    """The models of a plan or an agent type."""

    models = serializers.ListField(
        source="model_names",
        child=serializers.CharField(),
        allow_null=True,
        read_only=True,
        help_text="The models that its projects may use. Null: all. If plan and type name some, both lists apply.",
    )


class PlanSerializer(NamesModelsSerializer, serializers.ModelSerializer[Plan]):
    """A plan: an agent's resources and budget, and how many projects you may have on it."""

    cpus = serializers.FloatField()
    max_projects = serializers.IntegerField(
        source="owner_limit", min_value=1, help_text="How many projects you may have on it."
    )

    budget = BudgetSerializer(source="budget_facts", read_only=True)

    class Meta:
        model = Plan
        fields = ["slug", "memory_mb", "cpus", "disk_mb", "budget", "models", "max_projects", "is_default"]


class OfferedSchemaField(serializers.JSONField):
    """The schema of a type with the providers that staff added, whose names are in the context."""

    def to_representation(self, value: Any) -> Any:
        return with_providers(value, self.context[PROVIDERS])


class AgentTypeSerializer(NamesModelsSerializer, serializers.ModelSerializer[AgentType]):
    """A kind of agent: what it does, what it needs, and which settings it has."""

    egress = serializers.ChoiceField(
        source="least_egress", choices=Egress.choices, read_only=True, help_text="The most that its agents may reach."
    )
    hosts = serializers.ListField(
        source="host_names",
        child=serializers.CharField(),
        read_only=True,
        help_text="Hosts that its agents may reach through the gateway. If they may reach nothing else, `HTTPS_PROXY` "
        "names the gateway.",
    )

    default_models = serializers.DictField(
        source="models_by_provider",
        child=serializers.CharField(),
        read_only=True,
        help_text="The model of a project that names none, by provider or for `any`. Otherwise the image chooses.",
    )
    capabilities = serializers.ListField(
        source="capability_names",
        child=serializers.ChoiceField([each.value for each in Capability]),
        read_only=True,
        help_text="The capabilities that its image declares, as of the last minutes.",
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
