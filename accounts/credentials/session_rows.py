"""Whether a session lets in whom it let in before: by the versions of its row and of its user's.

Who was let in by rows that are the same now is let in by them again, until the session ends by itself: nothing else
is asked of them. PostgreSQL numbers the versions of rows; the queries are for it alone.
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
    """Of a row of the one table that the query reads: the transaction that wrote it, and its place.

    https://www.postgresql.org/docs/current/ddl-system-columns.html
    """

    template = "xmin::text || ctid::text"
    output_field = CharField()


class SessionRows(NamedTuple):
    """Versions of the rows of a session and of its user, and when the session ends. None: there is no such row."""

    session: str | None
    until: datetime | None
    user: str | None

    @classmethod
    def read(cls, columns: Sequence[Any]) -> "SessionRows":
        """Of a row that begins with `SESSION_COLUMNS`."""
        return cls(*columns[: len(SESSION_COLUMNS)])

    def are_those(self, let_in: "SessionRows", now: datetime) -> bool:
        """Whether they still let in whom they let in as `let_in`."""
        longest = timedelta(seconds=settings.SESSION_COOKIE_AGE)
        return self == let_in and None not in self and lasts(self.until, at_most=longest, now=now)


def with_session(rows: Any, *, digest: str, user_id: UUID) -> Any:
    """The rows with `SESSION_COLUMNS`. `digest` is that of the session's key."""
    session = Session.objects.filter(session_key=digest)
    return rows.annotate(
        session_row=Subquery(session.annotate(version=RowVersion()).values("version")),
        session_until=Subquery(session.values("expire_date")),
        user_row=Subquery(User.objects.filter(pk=user_id).annotate(version=RowVersion()).values("version")),
    )
