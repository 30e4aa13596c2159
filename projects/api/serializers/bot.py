"""A Telegram bot on the wire."""

from typing import Any

from rest_framework import serializers


class BotSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    username = serializers.CharField(help_text="Empty where Telegram did not answer.")
    url = serializers.CharField(
        help_text="https://t.me/…, or empty as well. While nobody is paired with an agent that answers nobody else, it "
        "is the one-time link that pairs the first one who opens it: another one each day, each for at least a day."
    )
    paired = serializers.IntegerField(
        allow_null=True, help_text="How many people are paired with it. Null where its agent has not said so."
    )
