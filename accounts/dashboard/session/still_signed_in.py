"""Withholds a page that took long if its session was ended meanwhile."""

import time
from collections.abc import Callable
from typing import cast

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare

from accounts.credentials.dashboard_sessions import SessionStore
from accounts.models import User
from accounts.services import still_signed_in


class StillSignedInMiddleware:
    """Checks the session again if the answer took so long that the session may have been ended since.

    The work that was done is not undone. The answer is the sign-in page, as for the next request.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        again_at = time.monotonic() + still_signed_in.ASK_AGAIN_AFTER
        response = self.get_response(request)
        if time.monotonic() < again_at or not isinstance(request.user, User) or is_still_in(request, request.user):
            return response
        return redirect_to_login(request.get_full_path())


def is_still_in(request: HttpRequest, user: User) -> bool:
    """Returns whether the session is open and belongs to this user in their current state. Its key may have changed."""
    now = User.objects.filter(pk=user.pk, is_active=True).first()
    key = request.session.session_key
    if now is None or not key or not cast(SessionStore, request.session).is_open(key):
        return False
    return constant_time_compare(request.session.get(HASH_SESSION_KEY, ""), now.get_session_auth_hash())
