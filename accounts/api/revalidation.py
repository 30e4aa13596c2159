"""Checks again, while a request is being answered, that its token is still good.

A user who has lost a token ends it, and an answer that is made after that must not reach the thief: the key of a new
program, a log, a list.
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
    """What a long answer asks before each part of it. It asks the database now and then only."""

    def __init__(self, request: AuthenticatedRequest) -> None:
        self._request = request
        self._user = request.user
        self._role = _role_of(request.user)
        self._again_at = time.monotonic() + still_signed_in.ASK_AGAIN_AFTER

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._again_at

    def check_token(self) -> None:
        """Raises `AuthenticationFailed` where the token is revoked or expired, or the user is another one by now:
        signed out, deactivated, with another password or another role.
        """
        self._again_at = time.monotonic() + still_signed_in.ASK_AGAIN_AFTER
        found = BearerAuthentication().authenticate(self._request)
        if found is None or found[0].pk != self._user.pk or _role_of(found[0]) != self._role:
            raise AuthenticationFailed(str(InvalidTokenError()), code="invalid_token")


class RevalidatedView(StrictView):
    """For a view that takes a token. `make_revalidation` says what is asked."""

    revalidation: TokenRevalidation | None = None

    def make_revalidation(self, request: AuthenticatedRequest) -> TokenRevalidation:
        return TokenRevalidation(request)

    def let_in(self, request: Request) -> None:
        self.revalidation = self.make_revalidation(request)  # type: ignore[arg-type]  # it is authenticated by now

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What took long is not told to somebody whose token was revoked meanwhile. A stream looks for itself."""
        if self.revalidation is not None and self.revalidation.is_due and not response.streaming:
            try:
                self.revalidation.check_token()
            except AuthenticationFailed as error:
                response = self.handle_exception(error)
        return super().finalize_response(request, response, *args, **kwargs)


def _role_of(user: User) -> tuple[bool, bool]:
    return user.is_staff, user.is_superuser
