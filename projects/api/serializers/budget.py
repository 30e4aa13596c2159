"""Budgets and usage in the API."""

import re
from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.api.fields import StrictSerializer
from projects.rules.budget import MOST_TOKENS

MONEY = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": MOST_TOKENS})
class TokensField(serializers.Field[int, Any, int, Any]):
    """A JSON number without a fraction."""

    default_error_messages = {"invalid": f"Must be a whole number from 0 to {MOST_TOKENS}."}

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int or not 0 <= data <= MOST_TOKENS:
            self.fail("invalid")
        return data

    def to_representation(self, value: int) -> int:
        return value


@extend_schema_field({"type": "string", "pattern": f"^{MONEY.pattern}$"})
class MoneyField(serializers.Field[Decimal, Any, str, Any]):
    """A JSON string, because JSON numbers may be rounded on the way."""

    default_error_messages = {"invalid": "Must be a string such as “12.50”."}

    def to_internal_value(self, data: Any) -> Decimal:
        if not isinstance(data, str) or not MONEY.fullmatch(data) or not data.isascii():
            self.fail("invalid")
        return Decimal(data)

    def to_representation(self, value: Any) -> str:
        return str(value)


class OwnBudgetSerializer(StrictSerializer):
    """The owner's limits, at most the plan's. Limits that are not named stay unchanged; null means the plan's."""

    day_tokens = TokensField(required=False, allow_null=True)
    month_tokens = TokensField(required=False, allow_null=True)
    day_money = MoneyField(required=False, allow_null=True)
    month_money = MoneyField(required=False, allow_null=True)


class BudgetSerializer(serializers.Serializer[Any]):
    """Limits per UTC day and month on input and output tokens together, and on money. Null means no limit."""

    day_tokens = serializers.IntegerField(allow_null=True)
    month_tokens = serializers.IntegerField(allow_null=True)
    day_money = serializers.CharField(allow_null=True)
    month_money = serializers.CharField(allow_null=True)


class SpentSerializer(serializers.Serializer[Any]):
    """The usage in the present UTC day or month. `tokens` are input and output together."""

    messages = serializers.IntegerField(help_text="Messages that the bot has sent.")
    requests = serializers.IntegerField(help_text="Calls of models.")
    tokens = serializers.IntegerField()
    money = serializers.CharField(help_text="Such as 12.50, by the prices that staff maintain or the provider reports.")


class UsageInShortSerializer(serializers.Serializer[Any]):
    """The usage counted by the gateway, and the budget in force."""

    today = SpentSerializer()
    month = SpentSerializer()
    budget = BudgetSerializer()


class UsageLineSerializer(serializers.Serializer[Any]):
    """The usage of one model in one hour or day. `model` is empty for messages and other things without a model."""

    at = serializers.DateTimeField(help_text="When the hour or day begins.")
    model = serializers.CharField()
    messages = serializers.IntegerField()
    requests = serializers.IntegerField()
    errors = serializers.IntegerField(help_text="How many of the requests failed.")  # type: ignore[assignment]  # DRF takes fields away
    estimated = serializers.IntegerField(help_text="How many of the requests were interrupted and are estimates.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField(help_text="How many of the input tokens came from the provider's cache.")
    money = serializers.CharField()
