"""An agent's disk use in the API."""

from typing import Any

from rest_framework import serializers


class DiskSerializer(serializers.Serializer[Any]):
    """What the agent stores on the disk, as last measured. Sizes are in bytes."""

    used = serializers.IntegerField(allow_null=True)
    limit = serializers.IntegerField(help_text="The plan's limit, at which the agent is stopped.")
    files = serializers.IntegerField(allow_null=True, help_text="Files, directories and links.")
    max_files = serializers.IntegerField(help_text="One for each 16 KB of the limit. At this the agent is stopped too.")
    measured_at = serializers.DateTimeField(
        allow_null=True, help_text="Null: not measured yet. Always null on a Swarm with a volume driver."
    )
    warning = serializers.CharField(allow_null=True, help_text="A sentence, if 80 % or more is used.")
