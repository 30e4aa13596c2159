"""Shapes on the wire of what an agent may spend, and of what it has used."""

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
    """A JSON string, since JSON numbers are rounded on their way."""

    default_error_messages = {"invalid": "Must be a string such as “12.50”."}

    def to_internal_value(self, data: Any) -> Decimal:
        if not isinstance(data, str) or not MONEY.fullmatch(data) or not data.isascii():
            self.fail("invalid")
        return Decimal(data)

    def to_representation(self, value: Any) -> str:
        return str(value)


class OwnBudgetSerializer(StrictSerializer):
    """What the owner sets, at most what the plan gives. What is not named stays as it is; null is the plan's."""

    day_tokens = TokensField(required=False, allow_null=True)
    month_tokens = TokensField(required=False, allow_null=True)
    day_money = MoneyField(required=False, allow_null=True)
    month_money = MoneyField(required=False, allow_null=True)


class BudgetSerializer(serializers.Serializer[Any]):
    """In a UTC day and month: tokens in and out together, money in the currency of the prices. Null is no limit."""

    day_tokens = serializers.IntegerField(allow_null=True)
    month_tokens = serializers.IntegerField(allow_null=True)
    day_money = serializers.CharField(allow_null=True)
    month_money = serializers.CharField(allow_null=True)


class SpentSerializer(serializers.Serializer[Any]):
    """In the present UTC day or month. Tokens in and out together."""

    messages = serializers.IntegerField(help_text="That the bot has sent.")
    requests = serializers.IntegerField(help_text="Calls of models.")
    tokens = serializers.IntegerField()
    money = serializers.CharField(help_text="Such as 12.50, by the prices that staff keep or the provider says.")


class UsageInShortSerializer(serializers.Serializer[Any]):
    """What the gateway has counted, and the budget in force."""

    today = SpentSerializer()
    month = SpentSerializer()
    budget = BudgetSerializer()


class UsageLineSerializer(serializers.Serializer[Any]):
    """One model in one hour or day. `model` is empty for what is no call of one, such as messages."""

    at = serializers.DateTimeField(help_text="When the hour or day begins.")
    model = serializers.CharField()
    messages = serializers.IntegerField()
    requests = serializers.IntegerField()
    errors = serializers.IntegerField(help_text="Of the requests.")  # type: ignore[assignment]  # DRF takes fields away
    estimated = serializers.IntegerField(help_text="Of the requests: those that were broken off.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField(help_text="Of the input.")
    money = serializers.CharField()
