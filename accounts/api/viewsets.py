"""Sessions and API keys under /api/auth."""

from contextlib import suppress
from typing import Any
from uuid import UUID

import orjson
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from accounts.api.etags import IF_NONE_MATCH, UNCHANGED, answer_with_etag
from accounts.api.fields import StrictSerializer
from accounts.api.ids import read_uuid
from accounts.api.openapi import problems
from accounts.api.parameters import StrictView, describe
from accounts.api.permissions import SessionOnly
from accounts.api.revalidation import RevalidatedView
from accounts.api.serializers import (
    ApiKeySerializer,
    IssuedKeySerializer,
    LoginAnswerSerializer,
    LoginSerializer,
    NewKeySerializer,
    SessionSerializer,
)
from accounts.errors import UnknownKeyError
from accounts.http import AuthenticatedRequest, client_address, client_program
from accounts.models import ApiKey, User
from accounts.services.api_keys import issue_api_key, revoke_api_key, rotate_api_key
from accounts.services.sign_in import log_in, log_out


class LoginView(StrictView, APIView):
    # A client that sends an expired token must still be able to get a new one.
    authentication_classes: list[type[BaseAuthentication]] = []
    permission_classes = [AllowAny]

    @describe(
        operation_id="login",
        tags=["auth"],
        auth=[],
        request=LoginSerializer,
        responses={200: LoginAnswerSerializer, **problems(400, 401, 409, 413, 415, 429)},
    )
    def post(self, request: Request) -> Response:
        """Exchange credentials for a session token, which lives for 12 hours.

        An account with a second factor also needs its `code`. If it is missing or wrong, the answer to the right
        password is 401 with the code `second_factor_required`.
        """
        fields = _validate(LoginSerializer, request)
        token, user = log_in(**fields, address=client_address(request), program=client_program(request))
        return Response({"token": token, "user": {"id": str(user.pk), "email": user.email}})


class SessionView(APIView):
    permission_classes = [AllowAny]
    throttle_classes: list[type[BaseThrottle]] = []  # always answers 200

    def perform_authentication(self, request: Request) -> None:
        """Ignores a bad token. The answer then says that nobody is authenticated."""
        with suppress(AuthenticationFailed):
            super().perform_authentication(request)

    @extend_schema(
        operation_id="session",
        tags=["auth"],
        parameters=[IF_NONE_MATCH],
        responses={200: SessionSerializer, **UNCHANGED},
    )
    def get(self, request: Request) -> HttpResponse:
        """Show who the caller is. Never an error: without a valid token, `authenticated` is false."""
        return answer_session(request, request.user if isinstance(request.user, User) else None)


class LogoutView(StrictView, APIView):
    permission_classes = [SessionOnly]
    works_in_maintenance = ("",)
    throttle_classes: list[
        type[BaseThrottle]
    ] = []  # a thief of the token must not be able to prevent its owner from ending it

    @describe(
        operation_id="logout",
        tags=["auth"],
        request=None,
        ignores_body=True,  # such as a refresh token: a user who wants to sign out is signed out
        responses={204: OpenApiResponse(description="The token is refused from now on."), **problems(401, 403)},
    )
    def post(self, request: AuthenticatedRequest) -> Response:
        """End the session whose token is sent. An API key is not a session: revoke it instead."""
        log_out(user=request.user, credential=request.auth)
        return Response(status=204)


class ApiKeyViewSet(RevalidatedView, ViewSet):
    permission_classes: list[type[BasePermission]] = [SessionOnly]
    works_in_maintenance = ("destroy",)
    throttle_scope = "commands"

    @describe(
        operation_id="list_keys",
        tags=["auth"],
        responses={200: ApiKeySerializer(many=True), **problems(401, 403)},
    )
    def list(self, request: AuthenticatedRequest) -> Response:
        """List your keys, newest first, without the revoked ones."""
        keys = ApiKey.objects.unrevoked().filter(user=request.user)
        return Response(ApiKeySerializer(keys, many=True).data)

    @describe(
        operation_id="issue_key",
        tags=["auth"],
        request=NewKeySerializer,
        responses={201: IssuedKeySerializer, **problems(400, 401, 403, 413, 415)},
    )
    def create(self, request: AuthenticatedRequest) -> Response:
        """Create a key. No other answer contains it."""
        fields = _validate(NewKeySerializer, request)
        row, key = issue_api_key(
            user=request.user,
            session=request.auth,
            name=fields["name"],
            scope=fields["scope"],
            lifetime_days=fields["expires_in_days"],
        )
        return _issued(row, key)

    @describe(
        operation_id="revoke_key",
        tags=["auth"],
        responses={204: OpenApiResponse(description="The key is refused from now on."), **problems(401, 403, 404)},
    )
    def destroy(self, request: AuthenticatedRequest, pk: str) -> Response:
        """Revoke a key."""
        revoke_api_key(key_id=_key_id(pk), owner=request.user, by=request.user)
        return Response(status=204)

    @describe(
        operation_id="rotate_key",
        tags=["auth"],
        request=None,
        responses={201: IssuedKeySerializer, **problems(401, 403, 404)},
    )
    def rotate(self, request: AuthenticatedRequest, pk: str) -> Response:
        """Create a key like this one, which keeps working for at most another 24 hours."""
        return _issued(*rotate_api_key(user=request.user, session=request.auth, key_id=_key_id(pk)))


def answer_session(request: HttpRequest | Request, user: User | None) -> HttpResponse:
    answer = {"authenticated": user is not None, "user": user and {"id": user.pk, "role": user.role.value}}
    return answer_with_etag(request, orjson.dumps(answer))


def _validate(serializer_class: type[StrictSerializer], request: Request) -> dict[str, Any]:
    serializer = serializer_class(data=request.data)
    serializer.is_valid(raise_exception=True)
    fields: dict[str, Any] = serializer.validated_data
    return fields


def _key_id(text: str) -> UUID:
    key_id = read_uuid(text)
    if key_id is None:
        raise UnknownKeyError
    return key_id


def _issued(row: ApiKey, key: str) -> Response:
    return Response({**ApiKeySerializer(row).data, "key": key}, status=201)
