"""Events and runs of a project in the API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from projects.api.lists.event_pages import show_id
from projects.models import Event


class EventSerializer(serializers.ModelSerializer[Event]):
    """An event as its owner sees it: for actions of staff, the actor is `staff`, and there is no address."""

    actor = serializers.CharField(source="actor_for_owner", read_only=True, help_text="An email, `staff` or `system`.")
    address = serializers.IPAddressField(source="address_for_owner", read_only=True, allow_null=True)

    id = serializers.SerializerMethodField()

    class Meta:
        model = Event
        fields = ["id", "at", "actor", "source", "address", "action", "outcome", "detail"]

    @extend_schema_field({"type": "string", "format": "uuid"})
    def get_id(self, event: Event) -> str:
        return str(show_id(event.pk))


class OwnEventSerializer(EventSerializer):
    """An event of any of the owner's projects; `project` may be gone."""

    project = serializers.UUIDField(source="project_id", read_only=True)

    class Meta(EventSerializer.Meta):
        fields = ["id", "project", *EventSerializer.Meta.fields[1:]]


class RunSerializer(serializers.Serializer[Any]):
    """One run of the agent. `exit_code` is null if it is still running, or was replaced by a start."""

    number = serializers.IntegerField()
    current = serializers.BooleanField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    exit_code = serializers.IntegerField(allow_null=True)
    oom_killed = serializers.BooleanField()
