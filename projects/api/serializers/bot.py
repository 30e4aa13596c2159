"""A Telegram bot in the API."""

from typing import Any

from rest_framework import serializers


class BotSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    username = serializers.CharField(help_text="Empty if Telegram did not answer.")
    url = serializers.CharField(
        help_text="https://t.me/…, or empty as well. While nobody is paired with an agent that only answers paired "
        "people, it is a one-time link that pairs the first person who opens it. It changes every day, and each link "
        "is valid for at least a day."
    )
    paired = serializers.IntegerField(
        allow_null=True, help_text="How many people are paired with it. Null if its agent has not reported it."
    )
