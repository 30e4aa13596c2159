"""An agent's resource use in the API: now and over time."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers


class UsageSerializer(serializers.Serializer[Any]):
    """What a container uses, in bytes except for `cpu_percent` (100 is one core) and `pids`."""

    cpu_percent = serializers.FloatField(allow_null=True)
    memory = serializers.IntegerField(allow_null=True)
    memory_limit = serializers.IntegerField(allow_null=True)
    network_received = serializers.IntegerField(allow_null=True)
    network_sent = serializers.IntegerField(allow_null=True)
    pids = serializers.IntegerField(allow_null=True)


class SampleSerializer(serializers.Serializer[Any]):
    """What the agent used in the `step` seconds from `at` on."""

    at = serializers.DateTimeField()
    cpu_percent = serializers.FloatField(source="cpu", help_text="The mean, in per cent of one core.")
    memory = serializers.IntegerField(help_text="The maximum, in bytes.")
    network_received = serializers.IntegerField(source="received", help_text="Bytes received in that time.")
    network_sent = serializers.IntegerField(source="sent", help_text="Bytes sent in that time.")


class HourSerializer(serializers.Serializer[Any]):
    """The gateway's counts in the hour from `at` on."""

    at = serializers.DateTimeField()
    messages = serializers.IntegerField(help_text="Counted as in `/usage`.")
    tokens = serializers.IntegerField(help_text="Input and output tokens together.")


class SeriesSerializer(serializers.Serializer[Any]):
    """What the agent used since then. Samples are missing while it did not run or was not measured."""

    since = serializers.DateTimeField(help_text="The requested time, or that of the oldest kept sample.")
    until = serializers.DateTimeField()
    step = serializers.SerializerMethodField(help_text="The length of each sample in seconds: 60 or 900.")
    memory_limit = serializers.IntegerField(help_text="The present plan's limit, in bytes.")
    samples = SampleSerializer(many=True)
    usage = HourSerializer(many=True, source="hours", help_text="Empty without a gateway.")

    def get_step(self, series: Any) -> int:
        minutes: int = series.minutes
        return minutes * 60


STATS = PolymorphicProxySerializer(
    component_name="Stats", serializers=[UsageSerializer, SeriesSerializer], resource_type_field_name=None
)
"""The first without `since`, the second with it."""
