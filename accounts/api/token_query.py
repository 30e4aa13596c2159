"""Finds the user of a token in one narrow query, which can also read the data that the request asks for."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Exists, Model, QuerySet, Value
from django.http import HttpRequest
from rest_framework.request import Request

from accounts import audit, clock
from accounts.credentials.api_keys import digest_key, has_key_prefix, is_well_formed
from accounts.credentials.session_tokens import read_session
from accounts.database.compiled_query import CompiledQuery, make_instance
from accounts.errors import InvalidTokenError
from accounts.http import Credential, client_address
from accounts.models import ApiKey, RevokedSession, Scope, User
from accounts.moments import is_recent, not_recent

_LAST_USE_GRAIN = timedelta(minutes=1)


def _columns(model: "type[Model]", *names: str) -> tuple[str, ...]:
    """Returns these names in the order of the model's fields, the order in which `from_db` takes values."""
    return tuple(field.attname for field in model._meta.concrete_fields if field.attname in names)


_USER = _columns(User, "id", "email", "is_active", "is_staff", "is_superuser", "session_version")
"""The columns of the user that a request needs. Django reads the others when they are used."""

_KEY = _columns(ApiKey, "id", "user_id", "name", "scope", "expires_at", "last_used_at", "revoked_at", "session_version")

Found = tuple[User, Credential, Sequence[Any]]


class TokenQuery:
    """Reads the token's user together with `columns` of the first row that `write` finds.

    `write` takes values (a UUID or string for each of `samples`) and returns a queryset. `user` is the lookup prefix
    from that queryset's model to the user, such as `owner__`; it is empty if the queryset contains users.
    """

    def __init__(
        self, write: "Callable[..., QuerySet[Any, Any]]", *columns: str, user: str = "", samples: Sequence[UUID] = ()
    ) -> None:
        key = f"{user}api_keys__"
        of_user = [f"{user}{name}" for name in _USER]
        of_key = [f"{key}{name}" for name in _KEY]

        def by_key(digest: str, *values: UUID) -> "QuerySet[Any, Any]":
            return write(*values).filter(**{f"{key}digest": digest}).values_list(*of_key, *of_user, *columns)

        def by_session(user_id: UUID, jti: str, *values: UUID) -> "QuerySet[Any, Any]":
            ended = RevokedSession.objects.filter(jti=Value(jti))
            chosen = write(*values).filter(**{f"{user}id": user_id}).exclude(Exists(ended))
            return chosen.values_list(*of_user, *columns)

        self._by_key = CompiledQuery(by_key, "the digest of a key", *samples)
        self._by_session = CompiledQuery(by_session, UUID(int=1), "the id of a session", *samples)

    def read(self, token: str, request: HttpRequest | Request, *values: UUID) -> Found:
        """Returns the user, the credential, and the columns of the row. A token that cannot be genuine costs no query.
        Raises `InvalidTokenError` if the token is not valid or there is no row.
        """
        if has_key_prefix(token):
            return self._read_by_key(token, request, values)
        return self._read_by_session(token, values)

    def _read_by_key(self, token: str, request: HttpRequest | Request, values: Sequence[UUID]) -> Found:
        if not is_well_formed(token):
            raise InvalidTokenError
        for columns in self._by_key.rows(digest_key(token), *values):
            key = make_instance(ApiKey, _KEY, columns[: len(_KEY)])
            user, rest = _split(columns[len(_KEY) :])
            if key.lets_in(user):
                _record_use(key, request)
                granted = Credential("key", key.name, Scope(key.scope), key_id=key.pk, expires_at=key.expires_at)
                return user, granted, rest
        raise InvalidTokenError

    def _read_by_session(self, token: str, values: Sequence[UUID]) -> Found:
        claims = read_session(token)
        for columns in self._by_session.rows(claims.user_id, claims.jti, *values):
            user, rest = _split(columns)
            if user.session_version == claims.version and user.is_active:
                return user, Credential("session", "session", jti=claims.jti, expires_at=claims.expires_at), rest
        raise InvalidTokenError


def _split(columns: Sequence[Any]) -> tuple[User, Sequence[Any]]:
    return make_instance(User, _USER, columns[: len(_USER)]), columns[len(_USER) :]


def _record_use(key: ApiKey, request: HttpRequest | Request) -> None:
    """Stores when and from which address the key was used, at most once a minute. The request survives a failure."""
    now = clock.now()
    if is_recent(key.last_used_at, within=_LAST_USE_GRAIN, now=now):
        return
    address = client_address(request)
    stale = ApiKey.objects.filter(not_recent("last_used_at", within=_LAST_USE_GRAIN, now=now), pk=key.pk)
    with suppress(DatabaseError), transaction.atomic():
        recorded = stale.update(last_used_at=now, last_used_ip=address)
        if recorded and key.last_used_at is None:
            audit.record("key_first_used", user=key.user_id, key=key.pk, address=address)
