"""Checks the token of a request again while a slow answer is being prepared.

A user revokes a token that was stolen. An answer prepared after that, such as a new key, a log or a list, must not
reach the thief.
"""

import time
from typing import Any

from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.api.authentication import BearerAuthentication
from accounts.api.parameters import StrictView
from accounts.errors import InvalidTokenError
from accounts.http import AuthenticatedRequest
from accounts.models import User
from accounts.services import still_signed_in


class TokenRevalidation:
    """Checks the token before each part of a long answer. `is_due` says when the database must be asked again."""

    def __init__(self, request: AuthenticatedRequest) -> None:
        self._request = request
        self._user = request.user
        self._role = _role_of(request.user)
        self._again_at = time.monotonic() + still_signed_in.ASK_AGAIN_AFTER

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._again_at

    def check_token(self) -> None:
        """Raises `AuthenticationFailed` if the token is revoked or expired, or if since the request began the user has
        signed out, was deactivated, or was given another password or role.
        """
        self._again_at = time.monotonic() + still_signed_in.ASK_AGAIN_AFTER
        found = BearerAuthentication().authenticate(self._request)
        if found is None or found[0].pk != self._user.pk or _role_of(found[0]) != self._role:
            raise AuthenticationFailed(str(InvalidTokenError()), code="invalid_token")


class RevalidatedView(StrictView):
    """Checks the token again before a slow answer is sent. `make_revalidation` creates the check."""

    revalidation: TokenRevalidation | None = None

    def make_revalidation(self, request: AuthenticatedRequest) -> TokenRevalidation:
        return TokenRevalidation(request)

    def check_request(self, request: Request) -> None:
        self.revalidation = self.make_revalidation(request)  # type: ignore[arg-type]  # it is authenticated by now

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Refuses a slow answer if the token was revoked in the meantime. A stream checks the token itself."""
        if self.revalidation is not None and self.revalidation.is_due and not response.streaming:
            try:
                self.revalidation.check_token()
            except AuthenticationFailed as error:
                response = self.handle_exception(error)
        return super().finalize_response(request, response, *args, **kwargs)


def _role_of(user: User) -> tuple[bool, bool]:
    return user.is_staff, user.is_superuser
