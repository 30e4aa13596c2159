"""Choosing from the catalogue: the field that takes a slug, and the checks across plan, type and settings."""

import json
import re
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from jsonschema import Draft202012Validator
from rest_framework import serializers

from accounts.strict import StrictCharField
from projects.models import AgentType, Plan

SETTINGS_BYTES = 16 * 1024
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""All but tab and line feed, which instructions may hold."""


@extend_schema_field({"type": "string"})
class OfferField(StrictCharField):
    """The slug of an available row; `get_default_offer` is what counts where the request names none."""

    def __init__(self, *, queryset: QuerySet[Any], **kwargs: Any) -> None:
        self.queryset = queryset
        super().__init__(max_length=40, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Not `to_internal_value`, because the validators of the base class look at the slug."""
        slug = super().run_validation(data)
        offer = self.queryset.all().filter(slug=slug, available=True).first()
        if offer is None:
            raise serializers.ValidationError(f"Choose one of: {self._choices()}.", code="unknown_choice")
        return offer

    def to_representation(self, value: Any) -> str:
        return str(value.pk)

    def get_default_offer(self) -> Any:
        offer = self.queryset.all().filter(is_default=True, available=True).first()
        if offer is None:
            raise serializers.ValidationError({str(self.field_name): [self._required()]})
        return offer

    def _required(self) -> Any:
        return serializers.ErrorDetail(f"There is no default. Choose one of: {self._choices()}.", code="required")

    def _choices(self) -> str:
        return ", ".join(self.queryset.all().filter(available=True).values_list("slug", flat=True))


def check_memory(agent_type: AgentType, plan: Plan) -> None:
    if plan.memory_mb < agent_type.min_memory_mb:
        message = f"The {agent_type.slug} agent needs {agent_type.min_memory_mb} MB of memory. Choose a larger plan."
        raise serializers.ValidationError({"plan": [serializers.ErrorDetail(message, code="plan_too_small")]})


def check_settings(agent_type: AgentType, settings: dict[str, Any]) -> None:
    errors: dict[str, Any] = {}
    if len(json.dumps(settings)) > SETTINGS_BYTES:
        errors["settings"] = [serializers.ErrorDetail("The settings exceed 16 KB. Shorten them.", code="too_long")]
    elif CONTROL_CHARACTERS.search(_text(settings)):
        errors["settings"] = [
            serializers.ErrorDetail("The settings hold control characters. Remove them.", code="control_characters")
        ]
    else:
        for error in Draft202012Validator(agent_type.settings_schema).iter_errors(settings):
            field = ".".join(["settings", *(str(part) for part in error.absolute_path)])
            errors.setdefault(field, []).append(serializers.ErrorDetail(error.message[:300], code=str(error.validator)))
    if errors:
        raise serializers.ValidationError(errors)


def _text(value: Any) -> str:
    """Every string in a JSON value, keys included."""
    if isinstance(value, dict):
        return "".join(f"{key}{_text(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "".join(map(_text, value))
    return value if isinstance(value, str) else ""
