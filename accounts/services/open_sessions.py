"""Lists the sessions of a user, on the dashboard and the API, and ends them one by one."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import transaction

from accounts import audit, clock
from accounts.credentials.dashboard_sessions import digest_session_key
from accounts.credentials.session_tokens import read_session, revoke_session
from accounts.errors import UnknownSessionError
from accounts.models import OpenSession, SessionKind, User
from accounts.moments import over
from accounts.services.page_tokens import end_page_tokens

MOST = 50
"""How many sessions of a user are listed. Signing out everywhere ends all others, too."""


def note_api_session(*, user: User, token: str, address: str | None, program: str) -> None:
    """Lists the session of a token that was just issued."""
    claims = read_session(token)
    _note(user, SessionKind.API, claims.jti, claims.expires_at, address=address, program=program)


def note_dashboard_session(*, user: User, session: SessionBase, address: str | None, program: str) -> None:
    """Lists a session that has just begun."""
    if session.session_key is None:
        session.save()
    token, ends_at = digest_session_key(session.session_key or ""), clock.now() + _longest()
    _note(user, SessionKind.DASHBOARD, token, ends_at, address=address, program=program)


def note_renewal(*, user: User, session: SessionBase) -> None:
    """Keeps a session listed that continued when all others of its user ended."""
    row = OpenSession.objects.filter(user=user, token=digest_session_key(session.session_key or ""))
    row.update(session_version=user.session_version)


def list_sessions(*, user: User) -> list[OpenSession]:
    """Returns the open sessions, newest first."""
    ended = over("ends_at", at_most=_longest(), now=clock.now())
    rows = OpenSession.objects.filter(user=user, session_version=user.session_version).exclude(ended)
    return list(rows.order_by("-began_at", "-pk")[:MOST])


def is_session(row: OpenSession, session: SessionBase) -> bool:
    return row.token == digest_session_key(session.session_key or "")


def is_of_token(row: OpenSession, jti: str | None) -> bool:
    """Returns whether this is the session of the token with this id. None is no token's session."""
    return row.kind == SessionKind.API and row.token == jti


def end_session(*, user: User, session_id: UUID) -> None:
    """Ends one session of the user: the next request is refused. Raises UnknownSessionError."""
    with transaction.atomic():
        # As when signing out: a key created in this session exists before the session ends, or never.
        User.objects.select_for_update().filter(pk=user.pk).first()
        row = OpenSession.objects.filter(user=user, pk=session_id).first()
        if row is None:
            raise UnknownSessionError
        if row.kind == SessionKind.API:
            revoke_session(jti=row.token, expires_at=row.ends_at)
        else:
            _end_on_dashboard(row)
        OpenSession.objects.filter(pk=row.pk).delete()
    if row.kind == SessionKind.DASHBOARD:
        end_page_tokens(user=user)
    audit.record("signed_out", user=user.pk, of=row.kind, session=row.pk)


def _end_on_dashboard(row: OpenSession) -> None:
    """Deletes the session under its current key, which a request of its own may change at this moment."""
    tried = ""
    while row.token != tried and not Session.objects.filter(session_key=row.token).delete()[0]:
        tried = row.token
        row.token = OpenSession.objects.filter(pk=row.pk).values_list("token", flat=True).first() or tried


def _note(user: User, kind: SessionKind, token: str, ends_at: datetime, *, address: str | None, program: str) -> None:
    values = {
        "user": user,
        "kind": kind,
        "address": address,
        "program": program,
        "began_at": clock.now(),
        "ends_at": ends_at,
        "session_version": user.session_version,
    }
    OpenSession.objects.update_or_create(token=token, defaults=values)
    surplus = OpenSession.objects.filter(user=user).order_by("-began_at", "-pk").values_list("pk", flat=True)[MOST:]
    if keys := list(surplus):
        OpenSession.objects.filter(pk__in=keys).delete()


def _longest() -> timedelta:
    return timedelta(seconds=settings.SESSION_COOKIE_AGE)
