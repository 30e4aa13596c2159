"""Values that a session holds for some minutes and no longer. They stay on the server; the cookie only names them."""

from datetime import timedelta
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone


def set_with_expiry(session: SessionBase, name: str, value: Any, *, lifetime: timedelta) -> None:
    session[name] = {"value": value, "until": (timezone.now() + lifetime).timestamp()}


def get_unexpired(session: SessionBase, name: str) -> Any:
    """The value, or None when there is none or its time is over."""
    kept = session.get(name)
    return kept["value"] if kept and timezone.now().timestamp() < kept["until"] else None


def discard(session: SessionBase, name: str) -> None:
    session.pop(name, None)
