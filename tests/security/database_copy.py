"""What someone has who got a copy of the database, and every entrance at which they can try it."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.signing import BadSignature
from django.db import connection
from django.test import Client
from django_otp.oath import TOTP  # type: ignore[import-untyped]  # has no stubs

from accounts.credentials.dashboard_sessions import SessionStore
from accounts.credentials.set_password_tokens import is_valid
from accounts.models import User
from accounts.services import second_factor

COOKIE = settings.SESSION_COOKIE_NAME
SHORTEST = 6
"""The length of the shortest credential, the code of an authenticator app."""


def columns() -> list[str]:
    """Every column of every table, including Django's and the cache's: `accounts_user.password`."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        return [
            f"{table}.{column.name}"
            for table in tables
            for column in connection.introspection.get_table_description(cursor, table)
        ]


def stored() -> dict[str, set[str]]:
    """Every value of every column as text, by the name of the column."""
    found: dict[str, set[str]] = {}
    with connection.cursor() as cursor:
        for name in columns():
            table, _, column = name.partition(".")
            cursor.execute(f"SELECT DISTINCT {_quote(column)} FROM {_quote(table)}")
            found[name] = {_text(value) for (value,) in cursor.fetchall() if value not in {None, ""}}
    return found


def _quote(name: str) -> str:
    return connection.ops.quote_name(name)


def _text(value: Any) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)


def values() -> set[str]:
    """Everything that can be read from the copy:
    values, the contents of JSON and sessions, and the words in all of them."""
    whole = {value for each in stored().values() for value in each}
    whole |= {json.dumps(session) for session in sessions()}
    found = set(whole)
    for value in whole:
        found |= set(_leaves(value)) | set(re.split(r"""[\s"'{}\[\],;:=/?&()<>]+""", value)) | set(_decoded(value))
    return {value for value in found if len(value) >= SHORTEST}


def sessions() -> Iterator[dict[str, Any]]:
    """The contents of a session can be read without its key."""
    for row in Session.objects.all():
        try:
            yield row.get_decoded()
        except BadSignature:
            continue


def _leaves(value: str) -> Iterator[str]:
    try:
        content = json.loads(value)
    except ValueError:
        return
    pending = [content]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += [*item, *item.values()]
        elif isinstance(item, list):
            pending += item
        else:
            yield str(item)


def _decoded(value: str) -> Iterator[str]:
    for decode in (base64.urlsafe_b64decode, bytes.fromhex):
        try:
            yield decode(value + "=" * (-len(value) % 4) if decode is base64.urlsafe_b64decode else value).decode()
        except (ValueError, binascii.Error):
            continue


# -- doors ------------------------------------------------------------------------------------------------------------

Door = Callable[[str], bool]


def _sent(value: str) -> str:
    """Decodes the value as a server hands the bytes of a header on."""
    return value.encode().decode("latin-1")


def _cookie(value: str) -> bool:
    client = Client()
    client.cookies[COOKIE] = _sent(value)
    return client.get("/settings").status_code == 200


def _is_session(value: str) -> bool:
    return SessionStore(_sent(value)).load() != {}


def _half_open_cookie(value: str) -> bool:
    """The session that waits for a code."""
    if not _is_session(value):
        return False
    client = Client()
    client.cookies[COOKIE] = _sent(value)
    return client.get("/sign-in/code").status_code == 200


def _linked_cookie(value: str) -> bool:
    """The session that has opened a set-password link."""
    if not _is_session(value):
        return False
    for user in User.objects.all():
        uid = base64.urlsafe_b64encode(str(user.pk).encode()).decode().rstrip("=")
        client = Client()
        client.cookies[COOKIE] = _sent(value)
        if "no longer valid" not in client.get(f"/set-password/{uid}/set-password").content.decode():
            return True
    return False


def _bearer(value: str) -> bool:
    answer = Client().get("/api/auth/session", headers={"Authorization": f"Bearer {_sent(value)}"})
    return bool(answer.json()["authenticated"])


def _link(value: str) -> bool:
    return any(is_valid(value, user) for user in User.objects.all())


def _password(value: str) -> bool:
    return any(user.check_password(value) for user in User.objects.all())


def _code(value: str) -> bool:
    """The value as a code, a recovery code, or the secret from which codes are computed."""
    attempts = [value]
    with suppress(ValueError, IndexError):
        attempts.append(f"{TOTP(base64.b32decode(value)).token():06d}")
    return any(
        second_factor._consume_recovery_code(user, attempt) or second_factor._consume_app_code(user, attempt)
        for user in User.objects.filter(second_factor__isnull=False)
        for attempt in attempts
    )


DOORS: dict[str, Door] = {
    "session cookie": _cookie,
    "cookie of a sign-in that waits for its code": _half_open_cookie,
    "cookie of an opened link": _linked_cookie,
    "token or key": _bearer,
    "set-password link": _link,
    "password": _password,
    "code": _code,
}
