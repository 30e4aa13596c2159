"""Projects in the API: what answers show of them."""

from typing import Any

from rest_framework import serializers

from projects.api.serializers.bot import BotSerializer
from projects.api.serializers.budget import UsageInShortSerializer
from projects.api.serializers.disk import DiskSerializer
from projects.api.serializers.image import ImageSerializer
from projects.models.rows.snapshot import Snapshot
from projects.rules.permissions import Egress
from projects.rules.status.statuses import Status


class ProjectSerializer(serializers.Serializer[Snapshot]):
    """The five fields of the list."""

    id = serializers.UUIDField(source="project.id", read_only=True)
    name = serializers.CharField(source="project.name", read_only=True)
    status = serializers.ChoiceField(choices=Status.choices, read_only=True)
    plan = serializers.CharField(source="project.plan_id", read_only=True)
    created_at = serializers.DateTimeField(source="project.created_at", read_only=True)


class StatusReasonSerializer(serializers.Serializer[Any]):
    """Why a project is not well. `oom_killed`: memory ran out for a process of the agent, which `code` names only if
    the agent ended because of it.
    """

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
