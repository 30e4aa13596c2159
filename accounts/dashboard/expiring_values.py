"""Values that a session holds for a limited time. They stay on the server; the cookie only names the session."""

from datetime import timedelta
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone


def set_with_expiry(session: SessionBase, name: str, value: Any, *, lifetime: timedelta) -> None:
    session[name] = {"value": value, "until": (timezone.now() + lifetime).timestamp()}


def get_unexpired(session: SessionBase, name: str) -> Any:
    """Returns the value, or None if there is none or it has expired."""
    entry = session.get(name)
    return entry["value"] if entry and timezone.now().timestamp() < entry["until"] else None


def discard(session: SessionBase, name: str) -> None:
    session.pop(name, None)
