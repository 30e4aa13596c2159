"""Session values with a limited lifetime. They stay on the server; the cookie only identifies the session."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.sessions.backends.base import SessionBase

from accounts import clock
from accounts.moments import lasts


def set_with_expiry(session: SessionBase, name: str, value: Any, *, lifetime: timedelta) -> None:
    now = clock.now().timestamp()
    session[name] = {"value": value, "at": now, "until": now + lifetime.total_seconds()}


def get_unexpired(session: SessionBase, name: str) -> Any:
    """Returns the value. Returns None if there is none, it has expired, or the clock has stepped back since."""
    entry, now = session.get(name), clock.now()
    if not entry:
        return None
    until = datetime.fromtimestamp(entry["until"], UTC)
    lifetime = entry["until"] - entry.get("at", now.timestamp())  # an older version stored no beginning
    return entry["value"] if lasts(until, at_most=timedelta(seconds=lifetime), now=now) else None


def discard(session: SessionBase, name: str) -> None:
    session.pop(name, None)
