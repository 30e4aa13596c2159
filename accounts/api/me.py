"""Who the caller is, and what the token may do."""

from typing import Any

import orjson
from django.conf import settings
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.views import APIView

from accounts.api.etags import IF_NONE_MATCH, UNCHANGED, answer_with_etag
from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.api.revalidation import RevalidatedView
from accounts.http import AuthenticatedRequest
from accounts.models import Role, Scope, SecondFactor


class TokenSerializer(serializers.Serializer[Any]):
    """The token of the current request."""

    kind = serializers.ChoiceField(["session", "key"])
    name = serializers.CharField(help_text="The name of the key, or `session`.")
    scope = serializers.ChoiceField(Scope.choices)
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null if it never expires.")


class LimitsSerializer(serializers.Serializer[Any]):
    """Requests per minute, counted for all tokens and pages of the user together."""

    reads = serializers.IntegerField()
    commands = serializers.IntegerField()
    deploys = serializers.IntegerField()


class MeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    name = serializers.CharField(allow_blank=True, help_text="The name by which the pages address the user.")
    role = serializers.ChoiceField(Role.choices)
    created_at = serializers.DateTimeField()
    second_factor = serializers.BooleanField(help_text="Whether signing in requires a code.")
    token = TokenSerializer()
    limits = LimitsSerializer()


class MeView(RevalidatedView, APIView):
    throttle_scope = "commands"

    @describe(
        operation_id="show_me",
        tags=["auth"],
        parameters=[IF_NONE_MATCH],
        responses={200: MeSerializer, **UNCHANGED, **problems(401, 429)},
    )
    def get(self, request: AuthenticatedRequest) -> HttpResponse:
        """Show who you are, what your token may do and until when, and how many requests per minute you have."""
        user, token = request.user, request.auth
        answer = {
            "id": user.pk,
            "email": user.email,
            "name": user.name,
            "role": user.role.value,
            "created_at": user.date_joined,
            "second_factor": SecondFactor.objects.filter(user=user).exists(),
            "token": {
                "kind": token.kind,
                "name": token.label,
                "scope": token.scope.value,
                "expires_at": token.expires_at,
            },
            "limits": dict(settings.BERTH_LIMITS),
        }
        return answer_with_etag(request, orjson.dumps(answer, option=orjson.OPT_UTC_Z), of=user.pk.bytes)
