"""The shape on the wire of what an agent keeps on the disk."""

from typing import Any

from rest_framework import serializers


class DiskSerializer(serializers.Serializer[Any]):
    """What the agent keeps on the disk, as last measured. Sizes are in bytes."""

    used = serializers.IntegerField(allow_null=True)
    limit = serializers.IntegerField(help_text="Of the plan. At this the agent is stopped.")
    files = serializers.IntegerField(allow_null=True, help_text="Files, directories and links.")
    max_files = serializers.IntegerField(help_text="One for each 16 KB of the limit. At this it is stopped, too.")
    measured_at = serializers.DateTimeField(allow_null=True, help_text="Null: not yet, and never on a Swarm.")
    warning = serializers.CharField(allow_null=True, help_text="A sentence, from 80 % on.")
