"""Issues, reads and revokes session tokens: JWTs with a user and the version of the user's sessions.

simplejwt encodes and decodes. This module is stricter in four ways: the audience must be exactly ours; the claims must
have the types that we gave them; a version number of our own ends sessions early (simplejwt's claim is an MD5 of the
password hash); and only the id of a revoked token is stored (simplejwt's blacklist stores whole tokens).
"""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from django.conf import settings
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import AccessToken

from accounts import clock
from accounts.errors import InvalidTokenError
from accounts.models import RevokedSession, User

# Our tokens have about 350 characters.
_MAX_LENGTH = 2048

_REMEMBERED = 1024
"""Tokens whose claims a process remembers."""


@dataclass(frozen=True, slots=True)
class SessionClaims:
    user_id: uuid.UUID
    jti: str
    version: int
    expires_at: datetime


def issue_session(user: User) -> str:
    token, now = AccessToken(), clock.now()
    token.set_iat(at_time=now)
    token.set_exp(from_time=now)
    token["sub"] = str(user.pk)
    token["ver"] = user.session_version
    return str(token)


def read_session(token: str) -> SessionClaims:
    """Returns the claims of a token with our signature. The user may have been deleted, or the session revoked.

    Raises InvalidTokenError if `issue_session` did not create the token, or the token has expired.
    """
    if len(token) > _MAX_LENGTH:
        raise InvalidTokenError
    try:
        claims = _decode(token)
    except (TokenError, KeyError, ValueError, TypeError, OverflowError):
        raise InvalidTokenError from None
    if claims.expires_at <= clock.now():  # the library knows only this machine's clock, and its leeway is wide
        raise InvalidTokenError
    return claims


def revoke_session(*, jti: str, expires_at: datetime) -> None:
    """Ends the session: the next request is refused. May be repeated."""
    RevokedSession.objects.bulk_create([RevokedSession(jti=jti, expires_at=expires_at)], ignore_conflicts=True)


@lru_cache(maxsize=_REMEMBERED)
def _decode(token: str) -> SessionClaims:
    """Returns the claims, whether or not the token has expired.

    Checking a signature takes longer than the rest of the authentication. A client sends the same token for hours, so
    the last valid ones are remembered; this process has the key that signs them in its memory anyway.
    """
    claims = AccessToken(token).payload  # type: ignore[arg-type]  # its annotation is wrong: it takes the string
    user_id, jti, version, expires = (claims[name] for name in ("sub", "jti", "ver", "exp"))
    if claims["aud"] != settings.SIMPLE_JWT["AUDIENCE"]:  # a list that contains our audience is refused too
        raise InvalidTokenError
    if not isinstance(user_id, str) or not isinstance(jti, str) or type(version) is not int or type(expires) is not int:
        raise InvalidTokenError
    return SessionClaims(uuid.UUID(user_id), uuid.UUID(jti).hex, version, datetime.fromtimestamp(expires, UTC))
