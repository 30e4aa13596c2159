"""Permissions of /api by kind and scope of the token. Ownership is checked by the querysets of the views."""

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request

from accounts.http import Credential
from accounts.models import Scope
from accounts.services.notice import refuse_in_maintenance

if TYPE_CHECKING:
    # The REST framework imports this module, its default permissions, while it creates APIView.
    from rest_framework.views import APIView


class ScopePermission(IsAuthenticated):
    """Allows everything to every token, except writing to a key with the scope `read`."""

    message = "This API key may only read. Use one with the scope `write`."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not super().has_permission(request, view):
            return False
        may = request.method in SAFE_METHODS or _credential(request).scope == Scope.WRITE
        return may and _works_now(request, view)


class SessionOnly(IsAuthenticated):
    """Allows session tokens only, because a stolen API key must not be able to create keys or end sessions."""

    message = "An API key cannot do this. Sign in, and use the session token."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return super().has_permission(request, view) and _credential(request).is_session and _works_now(request, view)


def _works_now(request: Request, view: "APIView") -> bool:
    """Returns True, or raises `MaintenanceError` for a change during maintenance, unless `works_in_maintenance` of the
    view lists its action. A view without actions lists an empty string.
    """
    if request.method not in SAFE_METHODS and getattr(view, "action", "") not in getattr(
        view, "works_in_maintenance", ()
    ):
        refuse_in_maintenance(request.user, _credential(request).maintenance)
    return True


def _credential(request: Request) -> Credential:
    """Returns the credential, or one without rights for an unknown kind, so a new authenticator grants no access."""
    if not isinstance(request.auth, Credential):
        return Credential("key", "", Scope.READ)
    return request.auth
