"""Recognises a dashboard session that was checked before, by the versions of its row and of its user's row.

If both rows are unchanged since the session was checked, it is still valid until it expires, and nothing else needs to
be queried. The versions are those that PostgreSQL gives to rows, so these queries work on PostgreSQL only.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import CharField, Func, Subquery

from accounts.models import User
from accounts.moments import lasts

SESSION_COLUMNS = ("session_row", "session_until", "user_row")


class RowVersion(Func):
    """The version of a row in a query of one table: the transaction that wrote it, and its position.

    https://www.postgresql.org/docs/current/ddl-system-columns.html
    """

    template = "xmin::text || ctid::text"
    output_field = CharField()


class SessionRows(NamedTuple):
    """Versions of the rows of a session and of its user, and when the session ends. None if there is no such row."""

    session: str | None
    until: datetime | None
    user: str | None

    @classmethod
    def read(cls, columns: Sequence[Any]) -> "SessionRows":
        """Reads the first columns of a row, which are `SESSION_COLUMNS`."""
        return cls(*columns[: len(SESSION_COLUMNS)])

    def match(self, known: "SessionRows", now: datetime) -> bool:
        """Returns whether the rows have not changed since the session was checked, and it has not expired."""
        longest = timedelta(seconds=settings.SESSION_COOKIE_AGE)
        return self == known and None not in self and lasts(self.until, at_most=longest, now=now)


def with_session(rows: Any, *, digest: str, user_id: UUID) -> Any:
    """Returns the queryset with `SESSION_COLUMNS`. `digest` is the digest of the session's key."""
    session = Session.objects.filter(session_key=digest)
    return rows.annotate(
        session_row=Subquery(session.annotate(version=RowVersion()).values("version")),
        session_until=Subquery(session.values("expire_date")),
        user_row=Subquery(User.objects.filter(pk=user_id).annotate(version=RowVersion()).values("version")),
    )
