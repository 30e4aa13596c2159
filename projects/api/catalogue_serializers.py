"""Shapes of the catalogue on the wire."""

from rest_framework import serializers

from projects.api.budget_serializers import BudgetSerializer
from projects.models import AgentType, Plan


class PlanSerializer(serializers.ModelSerializer[Plan]):
    cpus = serializers.FloatField()
    max_projects = serializers.IntegerField(
        source="owner_limit", min_value=1, help_text="How many projects you may have on it."
    )

    budget = BudgetSerializer(source="budget_facts", read_only=True)

    class Meta:
        model = Plan
        fields = ["slug", "memory_mb", "cpus", "disk_mb", "budget", "max_projects", "is_default"]


class AgentTypeSerializer(serializers.ModelSerializer[AgentType]):
    class Meta:
        model = AgentType
        fields = [
            "slug",
            "title",
            "needs_telegram_token",
            "needs_api_key",
            "settings_schema",
            "min_memory_mb",
            "is_default",
        ]
