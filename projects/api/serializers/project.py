"""Projects in the API: requests and responses."""

from typing import Any, cast
from uuid import UUID

from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers

from accounts.api.fields import VISIBLE, NameField, ObjectField, StrictCharField, StrictChoiceField, StrictSerializer
from projects.api.serializers.agent_settings import check_settings
from projects.api.serializers.bot import BotSerializer
from projects.api.serializers.budget import OwnBudgetSerializer, UsageInShortSerializer
from projects.api.serializers.catalogue_field import CatalogueField, PlanField, check_memory
from projects.api.serializers.disk import DiskSerializer
from projects.api.serializers.image import ImageSerializer
from projects.credentials.verification import parse_bot_id
from projects.errors import InvalidFieldError
from projects.models import AgentType, Project
from projects.models.rows.snapshot import Snapshot
from projects.rules.permissions import Egress
from projects.rules.settings.merge_patch import merge_patch
from projects.rules.status.statuses import Status
from projects.services import NewProject, ProjectChange

TOKEN_LENGTH = 256
KEY_LENGTH = 1024


class ProjectSerializer(serializers.Serializer[Snapshot]):
    """The five fields of the list."""

    id = serializers.UUIDField(source="project.id", read_only=True)
    name = serializers.CharField(source="project.name", read_only=True)
    status = serializers.ChoiceField(choices=Status.choices, read_only=True)
    plan = serializers.CharField(source="project.plan_id", read_only=True)
    created_at = serializers.DateTimeField(source="project.created_at", read_only=True)


class StatusReasonSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    exit_code = serializers.IntegerField(allow_null=True)
    oom_killed = serializers.BooleanField()
    at = serializers.DateTimeField(allow_null=True)
    log_tail = serializers.ListField(child=serializers.CharField())


class ListedProjectSerializer(ProjectSerializer):
    """A row of the list, with the fields that `include` names."""

    status_reason = StatusReasonSerializer(source="reason", required=False, allow_null=True)
    bot = BotSerializer(source="project.bot", required=False, allow_null=True)


class ProjectDetailSerializer(ProjectSerializer):
    """A project with all fields."""

    type = serializers.CharField(source="project.agent_type_id", read_only=True)
    settings = serializers.DictField(source="project.settings", read_only=True)
    bot = BotSerializer(source="project.bot", read_only=True, allow_null=True)
    provider = serializers.CharField(source="project.provider", read_only=True)
    telegram_token_hint = serializers.CharField(source="project.telegram_token_hint", read_only=True)
    api_key_hint = serializers.CharField(source="project.api_key_hint", read_only=True)
    status_reason = StatusReasonSerializer(source="reason", read_only=True, allow_null=True)
    status_checked_at = serializers.DateTimeField(source="checked_at", read_only=True, allow_null=True)
    last_known_status = serializers.ChoiceField(choices=Status.choices, read_only=True)
    restarts = serializers.IntegerField(source="project.restart_count", read_only=True)
    started_at = serializers.DateTimeField(source="project.started_at", read_only=True, allow_null=True)
    image = ImageSerializer(source="project.image_facts", read_only=True)
    disk = DiskSerializer(source="project.disk", read_only=True)
    usage = UsageInShortSerializer(read_only=True)
    egress = serializers.ChoiceField(
        source="project.egress",
        choices=Egress.choices,
        read_only=True,
        help_text="What its agent may reach from its next start on: the strictest choice of the installation, its "
        "type, the staff and its owner.",
    )
    models = serializers.ListField(
        source="project.model_names",
        child=serializers.CharField(),
        read_only=True,
        allow_null=True,
        help_text="The models that it may use. Null: all.",
    )
    updated_at = serializers.DateTimeField(source="project.updated_at", read_only=True)


class ValidationSerializer(serializers.Serializer[Any]):
    """The result of a dry run."""

    valid = serializers.BooleanField()
    bot = BotSerializer(allow_null=True)
    provider = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())


class ProjectFieldsSerializer(StrictSerializer):
    """The fields that creating and changing a project share."""

    name = NameField(max_length=64)
    plan = PlanField(required=False)
    telegramToken = StrictCharField(
        max_length=TOKEN_LENGTH, required=False, write_only=True, content=f"[0-9]{{1,18}}:{VISIBLE}+"
    )
    apiKey = StrictCharField(max_length=KEY_LENGTH, required=False, write_only=True)
    settings = ObjectField(required=False)
    budget = OwnBudgetSerializer(required=False)
    egress = StrictChoiceField(
        choices=Egress.choices,
        required=False,
        help_text="`gateway`: its agent may reach only the gateway, from its next start on. `internet`: as its type.",
    )

    @sensitive_variables()
    def validate_telegramToken(self, value: str) -> str:  # noqa: N802 - DRF finds it by the field's name
        try:
            parse_bot_id(value)
        except InvalidFieldError as error:
            raise serializers.ValidationError(str(error), code=error.code) from None
        return value


class NewProjectSerializer(ProjectFieldsSerializer):
    """A new project. Its type says which credentials it needs."""

    type = CatalogueField(queryset=AgentType.objects.all(), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs.setdefault("type", None)
        attrs.setdefault("plan", None)
        for field in ("type", "plan"):
            attrs[field] = attrs[field] or cast(CatalogueField, self.fields[field]).get_default_row()
        agent_type: AgentType = attrs["type"]
        missing = {
            field: serializers.ValidationError("This agent type needs it. Send it.", code="required").detail
            for field, needed in (
                ("telegramToken", agent_type.needs_telegram_token),
                ("apiKey", agent_type.needs_api_key),
            )
            if needed and not attrs.get(field)
        }
        if missing:
            raise serializers.ValidationError(missing)
        check_memory(agent_type, attrs["plan"])
        check_settings(agent_type, attrs.setdefault("settings", {}))
        return attrs

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

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        project = cast(Project, self.instance)
        if "plan" in attrs:
            check_memory(project.agent_type, attrs["plan"])
        if "settings" in attrs:
            merged = merge_patch(project.settings, attrs["settings"])
            check_settings(project.agent_type, merged, stored=project.settings)
        return attrs

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
