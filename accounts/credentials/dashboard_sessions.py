"""The sessions of the dashboard, stored in the database under digests of their keys.

Only the cookie contains the key, so nobody who reads the table, a backup or a replica can use a session. The setting
SESSION_ENGINE is the name of this module.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Length

from accounts import clock
from accounts.models import OpenSession
from accounts.moments import over

DIGEST_LENGTH = 40
"""In hexadecimal digits, which is 160 bits: the length of the column. A key has 165 random bits, so it needs no
salt."""


def digest_session_key(key: str) -> str:
    """Returns the digest that is stored."""
    return hashlib.blake2b(key.encode(), digest_size=DIGEST_LENGTH // 2, person=b"berth-session").hexdigest()


class SessionStore(db.SessionStore):
    """`session_key` is the key itself, as in the cookie. Every query uses its digest."""

    def _get_session_from_db(self) -> Session | None:
        found = _open_rows(self.session_key or "").first()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        return super().exists(digest_session_key(session_key))

    def is_open(self, session_key: str) -> bool:
        """Returns whether the session exists and has not expired. `exists` also finds an expired one until it is
        deleted.
        """
        return _open_rows(session_key).exists()

    def get_expiry_date(self, **kwargs: Any) -> datetime:
        """Uses the clock that reads it too: the database's clock if several machines share one."""
        expiry: datetime = super().get_expiry_date(**{"modification": clock.now(), **kwargs})
        return expiry

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        row = super().create_model_instance(data)
        row.session_key = digest_session_key(row.session_key)
        return row

    def cycle_key(self) -> None:
        """Gives the session another key. If the session was ended meanwhile, its contents are not restored.

        Django's method creates the new row before it deletes the old one, and so brings back a session that was ended.
        """
        held, key = dict(self.items()), self.session_key
        with transaction.atomic():
            if key and not Session.objects.filter(session_key=digest_session_key(key)).delete()[0]:
                held = {}
            self._session_cache = held
            self.create()
            if key and self.session_key:
                listed = OpenSession.objects.filter(token=digest_session_key(key))
                listed.update(token=digest_session_key(self.session_key))

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            super().delete(digest_session_key(key))
            OpenSession.objects.filter(token=digest_session_key(key)).delete()

    # Nothing here is asynchronous. These methods keep an asynchronous view from storing or looking up plain keys.

    async def _aget_session_from_db(self) -> Session | None:
        return await sync_to_async(self._get_session_from_db)()

    async def aexists(self, session_key: str) -> bool:
        return await sync_to_async(self.exists)(session_key)

    async def acreate_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        return await sync_to_async(self.create_model_instance)(data)

    async def adelete(self, session_key: str | None = None) -> None:
        await sync_to_async(self.delete)(session_key)


def _longest() -> timedelta:
    """Returns the longest lifetime. A session that lasts longer was created by a clock that has stepped back since, so
    its end is unknown.
    """
    return timedelta(seconds=settings.SESSION_COOKIE_AGE)


def _open_rows(key: str) -> QuerySet[Session]:
    ended = over("expire_date", at_most=_longest(), now=clock.now())
    return Session.objects.exclude(ended).filter(session_key=digest_session_key(key))


def find_dead_sessions(now: datetime) -> Iterator[QuerySet[Session]]:
    """Yields expired sessions, and those of an earlier version, which stored the keys themselves."""
    yield Session.objects.filter(over("expire_date", at_most=_longest(), now=now))
    yield Session.objects.alias(length=Length("session_key")).exclude(length=DIGEST_LENGTH)
