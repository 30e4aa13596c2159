"""The user's sessions under /api/auth/sessions, as the settings page lists them."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.permissions import BasePermission
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from accounts.api.ids import read_uuid
from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.api.permissions import SessionOnly
from accounts.api.revalidation import RevalidatedView
from accounts.errors import UnknownSessionError
from accounts.http import AuthenticatedRequest
from accounts.models import OpenSession, SessionKind
from accounts.services.open_sessions import end_session, is_of_token, list_sessions


class OpenSessionSerializer(serializers.Serializer[Any]):
    """Where and when a session began. The answer never contains the session's token."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(SessionKind.choices)
    program = serializers.CharField(allow_blank=True, help_text="The client's own name, such as `curl`.")
    address = serializers.IPAddressField(allow_null=True)
    began_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(help_text="When it expires.")
    is_current = serializers.BooleanField(help_text="Whether this request uses the session.")


class OpenSessionViewSet(RevalidatedView, ViewSet):
    permission_classes: list[type[BasePermission]] = [SessionOnly]
    works_in_maintenance = ("destroy",)
    throttle_scope = "commands"

    @describe(
        operation_id="list_sessions",
        tags=["auth"],
        responses={200: OpenSessionSerializer(many=True), **problems(401, 403)},
    )
    def list(self, request: AuthenticatedRequest) -> Response:
        """List where you are signed in, on the pages and on the API, newest first. At most 50 are listed."""
        rows = list_sessions(user=request.user)
        return Response([_serialize(row, jti=request.auth.jti) for row in rows])

    @describe(
        operation_id="end_session",
        tags=["auth"],
        responses={204: OpenApiResponse(description="The session is over."), **problems(401, 403, 404)},
    )
    def destroy(self, request: AuthenticatedRequest, pk: str) -> Response:
        """End one of your sessions, possibly that of this request. API keys are not sessions: revoke them instead."""
        end_session(user=request.user, session_id=_read_id(pk))
        return Response(status=204)


def _serialize(row: OpenSession, *, jti: str | None) -> Any:
    values = {name: getattr(row, name) for name in ("id", "kind", "program", "address", "began_at", "ends_at")}
    return OpenSessionSerializer({**values, "is_current": is_of_token(row, jti)}).data


def _read_id(text: str) -> UUID:
    session_id = read_uuid(text)
    if session_id is None:
        raise UnknownSessionError
    return session_id
