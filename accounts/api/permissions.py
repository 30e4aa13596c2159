"""Permissions of /api by kind and scope of the token. Ownership is checked by the querysets of the views."""

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.request import Request

from accounts.http import Credential
from accounts.models import Scope
from accounts.services.notice import refuse_in_maintenance

if TYPE_CHECKING:
    # The REST framework imports its default permissions, this module, while it makes APIView.
    from rest_framework.views import APIView


class ScopePermission(IsAuthenticated):
    """Allows everything to every token, except writing to a key with the scope `read`."""

    message = "This API key may only read. Use one with the scope `write`."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not super().has_permission(request, view):
            return False
        may = request.method in SAFE_METHODS or _credential(request).scope == Scope.WRITE
        return may and _goes_on(request, view)


class SessionOnly(IsAuthenticated):
    """Allows session tokens only: a stolen API key must not be able to make keys or end sessions."""

    message = "An API key cannot do this. Sign in, and use the session token."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return super().has_permission(request, view) and _credential(request).is_session and _goes_on(request, view)


def _goes_on(request: Request, view: "APIView") -> bool:
    """Returns True. Raises `MaintenanceError` for a change during maintenance, unless the view's `goes_on` lists its
    action. A view without actions lists an empty text.
    """
    if request.method not in SAFE_METHODS and getattr(view, "action", "") not in getattr(view, "goes_on", ()):
        refuse_in_maintenance(request.user, _credential(request).maintenance)
    return True


def _credential(request: Request) -> Credential:
    """Returns the credential, or a powerless one for an unknown kind, so that a new authenticator gains no access."""
    if not isinstance(request.auth, Credential):
        return Credential("key", "", Scope.READ)
    return request.auth
