"""Requests that create or change a project."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast
from uuid import UUID

from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import SkipField

from accounts.api.fields import NameField, ObjectField, StrictCharField, StrictChoiceField, StrictSerializer
from projects.api.serializers.agent_settings import check_settings
from projects.api.serializers.budget import OwnBudgetSerializer
from projects.api.serializers.catalogue_field import CatalogueField, PlanField, check_memory
from projects.credentials.verification import check_api_key, parse_bot_id
from projects.errors import InvalidFieldError
from projects.models import AgentType, Project
from projects.rules.permissions import Egress
from projects.rules.settings.merge_patch import merge_patch
from projects.services import NewProject, ProjectChange

TOKEN_LENGTH = 256
KEY_LENGTH = 1024


@contextmanager
def collected(errors: dict[str, Any]) -> Iterator[None]:
    """Adds the `ValidationError` of the block to the errors by field."""
    try:
        yield
    except serializers.ValidationError as error:
        errors |= cast(dict[str, Any], error.detail)


@contextmanager
def refused_for_field() -> Iterator[None]:
    """Turns the `InvalidFieldError` of the block into the `ValidationError` of a field."""
    try:
        yield
    except InvalidFieldError as error:
        raise serializers.ValidationError(str(error), code=error.code) from None


class ProjectFieldsSerializer(StrictSerializer):
    """The fields that creating and changing a project share."""

    name = NameField(max_length=64)
    plan = PlanField(required=False)
    telegramToken = StrictCharField(
        max_length=TOKEN_LENGTH, required=False, write_only=True, content="[0-9]{1,18}:[A-Za-z0-9_-]+"
    )
    apiKey = StrictCharField(max_length=KEY_LENGTH, required=False, write_only=True, content="[!-~]+")
    settings = ObjectField(required=False)
    budget = OwnBudgetSerializer(required=False)
    egress = StrictChoiceField(
        choices=Egress.choices,
        required=False,
        help_text="`gateway`: its agent may reach only the gateway, from its next start on. `internet`: as its type.",
    )

    def to_internal_value(self, data: Any) -> Any:
        """Raises one error for everything that is wrong, also for what concerns several fields."""
        try:
            return super().to_internal_value(data)
        except serializers.ValidationError as error:
            wrong = cast(dict[str, Any], error.detail)
            more = self.find_conflicts(self._read_others(data, wrong), wrong=wrong)
            raise serializers.ValidationError({**more, **wrong}) from None

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if errors := self.find_conflicts(attrs, wrong=()):
            raise serializers.ValidationError(errors)
        return attrs

    def find_conflicts(self, attrs: dict[str, Any], *, wrong: Collection[str]) -> dict[str, Any]:
        """Returns the errors of fields that depend on others. `attrs` lacks those that are `wrong` by themselves."""
        raise NotImplementedError

    def _read_others(self, data: Any, wrong: Collection[str]) -> dict[str, Any]:
        found = {}
        for name, field in self.fields.items():
            if not field.read_only and name not in wrong:
                with suppress(SkipField):
                    found[name] = field.run_validation(field.get_value(data))
        return found

    @sensitive_variables()
    def validate_telegramToken(self, value: str) -> str:  # noqa: N802 - DRF finds it by the field's name
        with refused_for_field():
            parse_bot_id(value)
        return value

    @sensitive_variables()
    def validate_apiKey(self, value: str) -> str:  # noqa: N802 - DRF finds it by the field's name
        with refused_for_field():
            check_api_key(value)
        return value


class NewProjectSerializer(ProjectFieldsSerializer):
    """A new project. Its type says which credentials it needs."""

    type = CatalogueField(queryset=AgentType.objects.all(), required=False)

    def find_conflicts(self, attrs: dict[str, Any], *, wrong: Collection[str]) -> dict[str, Any]:
        errors: dict[str, Any] = {}
        for name in ("type", "plan"):
            if name not in attrs and name not in wrong:
                with collected(errors):
                    attrs[name] = cast(CatalogueField, self.fields[name]).get_default_row()
        agent_type, plan = attrs.get("type"), attrs.get("plan")
        if agent_type is None:
            return errors
        errors |= {
            name: [ErrorDetail("This agent type needs it. Send it.", code="required")]
            for name, is_needed in (
                ("telegramToken", agent_type.needs_telegram_token),
                ("apiKey", agent_type.needs_api_key),
            )
            if is_needed and not attrs.get(name) and name not in wrong
        }
        if plan is not None:
            with collected(errors):
                check_memory(agent_type, plan)
        if "settings" not in wrong:
            with collected(errors):
                check_settings(agent_type, attrs.setdefault("settings", {}))
        return errors

    @sensitive_variables()
    def build(self, project_id: UUID, *, is_first: bool = False) -> NewProject:
        data = self.validated_data
        return NewProject(
            project_id=project_id,
            is_first=is_first,
            name=data["name"],
            agent_type=data["type"],
            plan=data["plan"],
            settings=data["settings"],
            telegram_token=data.get("telegramToken", ""),
            api_key=data.get("apiKey", ""),
            budget=data.get("budget", {}),
            egress=data.get("egress"),
        )


class ProjectChangeSerializer(ProjectFieldsSerializer):
    """A change of a project. Fields that are not named stay unchanged."""

    settings = ObjectField(
        required=False,
        help_text="A JSON Merge Patch (RFC 7396): settings that are not named stay unchanged, and null removes one.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, partial=True, **kwargs)

    def find_conflicts(self, attrs: dict[str, Any], *, wrong: Collection[str]) -> dict[str, Any]:  # noqa: ARG002 - attrs has only what was sent and is right
        project, errors = cast(Project, self.instance), dict[str, Any]()
        if "plan" in attrs:
            with collected(errors):
                check_memory(project.agent_type, attrs["plan"])
        if "settings" in attrs:
            merged = merge_patch(project.settings, attrs["settings"])
            with collected(errors):
                check_settings(project.agent_type, merged, stored=project.settings)
        return errors

    @sensitive_variables()
    def build(self) -> ProjectChange:
        data = self.validated_data
        return ProjectChange(
            name=data.get("name"),
            plan=data.get("plan"),
            settings_patch=data.get("settings"),
            telegram_token=data.get("telegramToken"),
            api_key=data.get("apiKey"),
            budget=data.get("budget"),
            egress=data.get("egress"),
        )
