"""Who may do what on /api. Ownership is not here: a view's queryset holds only what is the caller's."""

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request

from accounts.http import Credential
from accounts.models import Scope

if TYPE_CHECKING:
    # The REST framework imports its default permissions, this module, while it makes APIView.
    from rest_framework.views import APIView


class ScopePermission(IsAuthenticated):
    """Everyone with a token, but a `read` key may only read."""

    message = "This API key may only read. Use one with the scope `write`."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not super().has_permission(request, view):
            return False
        return request.method in SAFE_METHODS or _credential(request).scope == Scope.WRITE


class SessionOnly(IsAuthenticated):
    """For what an API key never does: make keys, end sessions. A thief of one must not get a foot in."""

    message = "An API key cannot do this. Sign in, and use the session token."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return super().has_permission(request, view) and _credential(request).is_session


def _credential(request: Request) -> Credential:
    """No token at all passes for none of ours, so that a new authenticator cannot be let in by accident."""
    if not isinstance(request.auth, Credential):
        return Credential("key", "", Scope.READ)
    return request.auth
