"""Pairing people with an agent, under /api."""

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
    """Whether one more person is paired, or one in the place of all."""

    mode = StrictChoiceField(
        choices=PairingMode.choices,
        required=False,
        help_text="`add` pairs one more person, which it does unless told otherwise. `replace` pairs one person in the "
        "place of all others, and voids all codes from before.",
    )


class PairingLinkSerializer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=PairingMode.choices)
    code = serializers.CharField(help_text="For `/start <code>`, in a private chat with the bot.")
    url = serializers.CharField(help_text="https://t.me/…, or empty where Telegram has not told the bot's name.")
    expires_at = serializers.DateTimeField()
    needs_start = serializers.BooleanField(
        help_text="Whether it counts only after a start or restart: the agent has been running since before it could "
        "pair. From then on it answers nobody but whom it is paired with and whom `allowed_users` lists."
    )


class ProjectPairingViewSet(OwnProjectsViewSet):
    @describe(
        operation_id="pair_project",
        tags=["projects"],
        request=PairingSerializer,
        responses={201: PairingLinkSerializer, **problems(400, 401, 403, 404, 409, 413, 415, 429)},
    )
    def create(self, request: AuthenticatedRequest, id: str) -> Response:
        """Make a one-time link by which somebody pairs with the agent, within a day."""
        project = self.get_object()
        serializer = PairingSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        mode = PairingMode(serializer.validated_data.get("mode", PairingMode.ADD))
        link = make_pairing_link(project=project, mode=mode, actor=find_actor(request))
        return Response(PairingLinkSerializer(link).data, status=201)
