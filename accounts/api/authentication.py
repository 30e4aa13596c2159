"""Authenticates `Authorization: Bearer <token>`, the only way into /api."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Exists, Model, QuerySet, Value
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts import audit
from accounts.compiled_query import CompiledQuery
from accounts.credentials.api_keys import digest_key, has_key_prefix, is_well_formed
from accounts.credentials.session_tokens import read_session
from accounts.errors import InvalidTokenError
from accounts.http import Credential, client_address
from accounts.models import ApiKey, RevokedSession, Scope, User
from accounts.moments import is_recent, not_recent

_LAST_USE_GRAIN = timedelta(minutes=1)


def _columns(model: "type[Model]", *names: str) -> tuple[str, ...]:
    """Returns the names in the order of the model, in which `from_db` takes values."""
    return tuple(field.attname for field in model._meta.concrete_fields if field.attname in names)


_USER = _columns(User, "id", "email", "is_active", "is_staff", "is_superuser", "session_version")
"""What a request needs of its user. Django reads the other columns when they are asked for."""

_KEY = _columns(ApiKey, "id", "user_id", "name", "scope", "expires_at", "last_used_at", "revoked_at")


def _user_of_session(user_id: UUID, jti: str) -> "QuerySet[User, Any]":
    ended = RevokedSession.objects.filter(jti=Value(jti))
    return User.objects.filter(pk=user_id, is_active=True).exclude(Exists(ended)).values_list(*_USER)


def _key_with_user(digest: str) -> "QuerySet[ApiKey, Any]":
    return ApiKey.objects.filter(digest=digest).values_list(*_KEY, *(f"user__{name}" for name in _USER))


_USER_OF_SESSION = CompiledQuery(_user_of_session, UUID(int=1), "the id of a session")
_KEY_WITH_USER = CompiledQuery(_key_with_user, "the digest of a key")


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
    for columns in _USER_OF_SESSION.rows(claims.user_id, claims.jti):
        user = _make_user(columns)
        if user.session_version == claims.version:
            return user, Credential("session", "session", jti=claims.jti, expires_at=claims.expires_at)
    raise InvalidTokenError


def _from_key(token: str, request: Request) -> tuple[User, Credential]:
    if not is_well_formed(token):
        raise InvalidTokenError
    for columns in _KEY_WITH_USER.rows(digest_key(token)):
        key = ApiKey.from_db(None, _KEY, columns[: len(_KEY)])
        user = _make_user(columns[len(_KEY) :])
        if key.is_live and user.is_active:
            _record_use(key, client_address(request))
            return user, Credential("key", key.name, Scope(key.scope), key_id=key.pk, expires_at=key.expires_at)
    raise InvalidTokenError


def _make_user(columns: Sequence[Any]) -> User:
    return User.from_db(None, _USER, columns)


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
