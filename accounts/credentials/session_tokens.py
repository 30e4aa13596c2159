"""Session tokens: JWTs that name a user and the version of their sessions. Issued, read, ended before their time.

simplejwt encodes and decodes. What it leaves open is closed here: the audience must be exactly ours, the claims must
have the types we gave them, what ends a session early is a number of ours (simplejwt's claim is an MD5 of the password
hash), and of a token signed out only the id is kept (simplejwt's blacklist keeps whole tokens).
"""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.utils import timezone
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import AccessToken

from accounts.errors import InvalidTokenError
from accounts.models import RevokedSession, User

# Ours have about 350 characters.
_LONGEST = 2048


@dataclass(frozen=True, slots=True)
class SessionClaims:
    user_id: uuid.UUID
    jti: str
    version: int
    expires_at: datetime


def issue_session(user: User) -> str:
    token = AccessToken()
    token["sub"] = str(user.pk)
    token["ver"] = user.session_version
    return str(token)


def read_session(token: str) -> SessionClaims:
    """What a token of ours claims, by its signature alone: the user may be gone, or the session ended.

    Raises InvalidTokenError for anything that `issue_session` has not made, or made longer ago than it lives.
    """
    if len(token) > _LONGEST:
        raise InvalidTokenError
    try:
        claims = AccessToken(token).payload  # type: ignore[arg-type]  # its annotation is wrong: it takes the string
        return _typed(claims)
    except (TokenError, KeyError, ValueError, TypeError, OverflowError):
        raise InvalidTokenError from None


def revoke_session(*, jti: str, expires_at: datetime) -> None:
    """Refuse the session from the next request on. Repeating it changes nothing."""
    RevokedSession.objects.filter(expires_at__lt=timezone.now()).delete()
    RevokedSession.objects.bulk_create([RevokedSession(jti=jti, expires_at=expires_at)], ignore_conflicts=True)


def _typed(claims: dict[str, object]) -> SessionClaims:
    user_id, jti, version, expires = (claims[name] for name in ("sub", "jti", "ver", "exp"))
    if claims["aud"] != settings.SIMPLE_JWT["AUDIENCE"]:  # a list that holds ours among others is not ours
        raise InvalidTokenError
    if not isinstance(user_id, str) or not isinstance(jti, str) or type(version) is not int or type(expires) is not int:
        raise InvalidTokenError
    return SessionClaims(uuid.UUID(user_id), uuid.UUID(jti).hex, version, datetime.fromtimestamp(expires, UTC))
