"""Serializers of /api/auth."""

from typing import Any

from rest_framework import serializers

from accounts.api.fields import NameField, StrictCharField, StrictChoiceField, StrictSerializer
from accounts.credentials.passwords import LONGEST_PASSWORD
from accounts.emails import LONGEST_EMAIL
from accounts.models import ApiKey, Role, Scope
from accounts.services.api_keys import DEFAULT_LIFETIME, LIFETIMES


class LoginSerializer(StrictSerializer):
    """The credentials of a user who signs in. `code` is needed if the account has a second factor."""

    email = StrictCharField(max_length=LONGEST_EMAIL)
    password = StrictCharField(max_length=LONGEST_PASSWORD, trim_whitespace=False, style={"input_type": "password"})
    code = StrictCharField(
        max_length=64,
        required=False,
        allow_blank=True,
        help_text="Needed if the account has a second factor: the app's current code, or a recovery code.",
    )


class LoggedInUserSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()


class LoginAnswerSerializer(serializers.Serializer[Any]):
    token = serializers.CharField(help_text="A session token. Send it as `Authorization: Bearer <token>`.")
    user = LoggedInUserSerializer()


class SessionUserSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    role = serializers.ChoiceField(Role.choices)


class SessionSerializer(serializers.Serializer[Any]):
    authenticated = serializers.BooleanField()
    user = SessionUserSerializer(allow_null=True)


class NewKeySerializer(StrictSerializer):
    """The name, scope and lifetime of a new key."""

    name = NameField(max_length=64)
    scope = StrictChoiceField(Scope.choices)
    expires_in_days = StrictChoiceField(
        [days for days in LIFETIMES if days is not None],
        default=DEFAULT_LIFETIME,
        allow_null=True,
        help_text="`null` means that it never expires.",
    )


class ApiKeySerializer(serializers.ModelSerializer[ApiKey]):
    class Meta:
        model = ApiKey
        fields = [
            "id",
            "name",
            "scope",
            "hint",
            "created_at",
            "expires_at",
            "last_used_at",
            "last_used_ip",
        ]
        read_only_fields = fields


class IssuedKeySerializer(ApiKeySerializer):
    """A new key. No other answer contains the key itself."""

    key = serializers.CharField(read_only=True, help_text="The key. It is not shown again.")

    class Meta(ApiKeySerializer.Meta):
        fields = [*ApiKeySerializer.Meta.fields, "key"]
        read_only_fields = fields
