"""Pairing under /api."""

from typing import Any

from rest_framework import serializers
from rest_framework.response import Response

from accounts.api.fields import StrictChoiceField, StrictSerializer
from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.http import AuthenticatedRequest
from projects.api.viewsets.own_projects import OwnProjectsViewSet, find_actor
from projects.rules.pairing import PairingMode
from projects.services import make_pairing_link


class PairingSerializer(StrictSerializer):
    """Whether to pair one more person, or one person instead of all others."""

    mode = StrictChoiceField(
        choices=PairingMode.choices,
        required=False,
        help_text="`add` (the default) pairs one more person. `replace` pairs one person instead of all others, and "
        "invalidates all earlier codes.",
    )


class PairingLinkSerializer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=PairingMode.choices)
    code = serializers.CharField(help_text="For `/start <code>`, in a private chat with the bot.")
    url = serializers.CharField(help_text="https://t.me/…, or empty if the bot's name is not known yet.")
    expires_at = serializers.DateTimeField()
    needs_start = serializers.BooleanField(
        help_text="Whether the link only works after a start or restart, because the agent was started before it could "
        "pair. From then on it only answers paired people and those in `allowed_users`."
    )


class ProjectPairingViewSet(OwnProjectsViewSet):
    @describe(
        operation_id="pair_project",
        tags=["projects"],
        request=PairingSerializer,
        responses={201: PairingLinkSerializer, **problems(400, 401, 403, 404, 409, 413, 415, 429)},
    )
    def create(self, request: AuthenticatedRequest, id: str) -> Response:
        """Create a one-time link to pair with the agent. It is valid for a day."""
        project = self.get_object()
        serializer = PairingSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        mode = PairingMode(serializer.validated_data.get("mode", PairingMode.ADD))
        link = make_pairing_link(project=project, mode=mode, actor=find_actor(request))
        return Response(PairingLinkSerializer(link).data, status=201)
