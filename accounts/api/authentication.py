"""Authenticates `Authorization: Bearer <token>`, the only way into /api."""

from contextlib import suppress
from datetime import timedelta

from django.db import DatabaseError, transaction
from django.db.models import Exists, Value
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts import audit
from accounts.credentials.api_keys import digest_key, has_key_prefix, is_well_formed
from accounts.credentials.session_tokens import read_session
from accounts.errors import InvalidTokenError
from accounts.http import Credential, client_address
from accounts.models import ApiKey, RevokedSession, Scope, User
from accounts.moments import is_recent, not_recent

_LAST_USE_GRAIN = timedelta(minutes=1)


class BearerAuthentication(BaseAuthentication):
    """Reads tokens with the prefix of API keys as such, all others as session tokens.

    It takes one query, and none for a token that cannot be genuine.
    """

    def authenticate(self, request: Request) -> tuple[User, Credential] | None:
        scheme, *values = get_authorization_header(request).split() or [b""]
        if scheme.lower() != b"bearer":
            return None
        try:
            token = _single_token(values)
            return _from_key(token, request) if has_key_prefix(token) else _from_session(token)
        except (InvalidTokenError, UnicodeDecodeError):
            raise AuthenticationFailed(str(InvalidTokenError()), code="invalid_token") from None

    def authenticate_header(self, request: Request) -> str:
        """Returns the challenge. It names an error only to a client that sent a token (RFC 6750)."""
        sent = get_authorization_header(request).lower().startswith(b"bearer")
        return 'Bearer error="invalid_token"' if sent else "Bearer"


def _single_token(values: list[bytes]) -> str:
    if len(values) != 1:
        raise InvalidTokenError
    return values[0].decode("ascii")


def _from_session(token: str) -> tuple[User, Credential]:
    claims = read_session(token)
    ended = RevokedSession.objects.filter(jti=Value(claims.jti))
    user = User.objects.filter(pk=claims.user_id, is_active=True, session_version=claims.version)
    found = user.exclude(Exists(ended)).first()
    if found is None:
        raise InvalidTokenError
    return found, Credential("session", "session", jti=claims.jti, expires_at=claims.expires_at)


def _from_key(token: str, request: Request) -> tuple[User, Credential]:
    if not is_well_formed(token):
        raise InvalidTokenError
    key = ApiKey.objects.select_related("user").filter(digest=digest_key(token)).first()
    if key is None or not key.is_live or not key.user.is_active:
        raise InvalidTokenError
    _record_use(key, client_address(request))
    return key.user, Credential("key", key.name, Scope(key.scope), key_id=key.pk, expires_at=key.expires_at)


def _record_use(key: ApiKey, address: str | None) -> None:
    """Writes when and from where the key was used, at most once a minute. The request goes on if this fails."""
    now = timezone.now()
    if is_recent(key.last_used_at, within=_LAST_USE_GRAIN, now=now):
        return
    stale = ApiKey.objects.filter(not_recent("last_used_at", within=_LAST_USE_GRAIN, now=now), pk=key.pk)
    with suppress(DatabaseError), transaction.atomic():
        recorded = stale.update(last_used_at=now, last_used_ip=address)
        if recorded and key.last_used_at is None:
            audit.record("key_first_used", user=key.user_id, key=key.pk, address=address)
