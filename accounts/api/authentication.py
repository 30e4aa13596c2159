"""Authenticates `Authorization: Bearer <token>`, the only way into /api."""

from dataclasses import replace

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.api.token_query import TokenQuery
from accounts.errors import InvalidTokenError
from accounts.http import Credential
from accounts.models import User
from accounts.services.notice import with_maintenance

_FOUND = "berth.token"
"""Key in the request's META under which `hand_over` stores its values."""

USERS = TokenQuery(with_maintenance, "maintenance")


class BearerAuthentication(BaseAuthentication):
    """Treats a token with the prefix of API keys as an API key, and any other as a session token.

    Costs one query, or none for a token that cannot be genuine.
    """

    def authenticate(self, request: Request) -> tuple[User, Credential] | None:
        found: tuple[User, Credential] | None = request.META.pop(_FOUND, None)
        if found is not None:
            return found
        try:
            token = read_token(request)
            if token is None:
                return None
            user, credential, (maintenance,) = USERS.read(token, request)
        except InvalidTokenError:
            raise AuthenticationFailed(str(InvalidTokenError()), code="invalid_token") from None
        return user, replace(credential, maintenance=maintenance)

    def authenticate_header(self, request: Request) -> str:
        """Returns the challenge. It names an error only to a client that sent a token (RFC 6750)."""
        return 'Bearer error="invalid_token"' if _values_of(request) is not None else "Bearer"


def read_token(request: HttpRequest | Request) -> str | None:
    """Returns the token that was sent, or None. Raises `InvalidTokenError` if it cannot be a token."""
    values = _values_of(request)
    if values is None:
        return None
    try:
        (token,) = values
        return str(token, "ascii")
    except ValueError:  # none, more than one, or other characters
        raise InvalidTokenError from None


def _values_of(request: HttpRequest | Request) -> list[bytes] | None:
    """Returns what follows `Bearer` in the header, or None if the client sent another scheme or none."""
    header = get_authorization_header(request)  # type: ignore[arg-type]  # it looks at META only, which both have
    scheme, *values = header.split() or [b""]
    return values if scheme.lower() == b"bearer" else None


def hand_over(request: HttpRequest | Request, user: User, credential: Credential) -> None:
    """Stores the user and credential just found, for one use by `BearerAuthentication` in the view.

    The credential of a request that changes something must have `maintenance`; a read is never refused for it.
    """
    request.META[_FOUND] = (user, credential)
