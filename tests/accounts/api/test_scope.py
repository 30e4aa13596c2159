"""What a token may do: a `read` key only reads, a session and a `write` key do both."""

from typing import cast

import pytest
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.http import Credential
from accounts.models import ApiKey, Scope, User
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key

SAFE = ["GET", "HEAD", "OPTIONS"]
UNSAFE = ["POST", "PUT", "PATCH", "DELETE"]


class AnyView(APIView):
    """Represents all views that do not choose their permissions."""

    throttle_scope = "commands"

    def get(self, request: Request) -> Response:
        return Response({"label": cast("Credential", request.auth).label})

    post = put = patch = delete = get


urlpatterns = [path("api/any", AnyView.as_view())]
pytestmark = pytest.mark.urls(__name__)


@pytest.mark.parametrize("method", SAFE)
@pytest.mark.parametrize("scope", Scope)
def test_every_key_reads(call: Call, alice: User, method: str, scope: Scope) -> None:
    key = ApiKeyFactory.create(user=alice, scope=scope)

    assert call(method, "/api/any", by=plain_key(key)).status_code == 200


@pytest.mark.parametrize("method", UNSAFE)
def test_a_read_key_does_nothing_else(call: Call, alice: User, method: str) -> None:
    key = ApiKeyFactory.create(user=alice, scope=Scope.READ)
    answer = call(method, "/api/any", by=plain_key(key))

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert "write" in answer.json()["detail"]


@pytest.mark.parametrize("method", UNSAFE)
def test_write_keys_and_sessions_do_all(call: Call, alice: User, method: str) -> None:
    key = ApiKeyFactory.create(user=alice, scope=Scope.WRITE, name="robot")

    assert call(method, "/api/any", by=plain_key(key)).json() == {"label": "robot"}
    assert call(method, "/api/any", by=alice).json() == {"label": "session"}


def test_a_scope_that_changes_counts_at_once(call: Call, alice: User) -> None:
    key = ApiKeyFactory.create(user=alice, scope=Scope.WRITE)
    ApiKey.objects.update(scope=Scope.READ)

    assert call("POST", "/api/any", by=plain_key(key)).status_code == 403


@pytest.mark.parametrize("method", SAFE[:2] + UNSAFE)
def test_a_visitor_may_do_nothing(call: Call, db: None, method: str) -> None:
    assert call(method, "/api/any").status_code == 401
