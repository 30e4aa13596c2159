"""Reads the URLs of the servers that Berth itself uses: its database, and the server that takes its mails."""

from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from config import env

SQLITE, POSTGRESQL = "config.database.sqlite", "config.database.postgresql"
"""Django's backends with our limits."""


def database(name: str, default: Path) -> dict[str, object]:
    """Returns Django's settings for the database of the URL, or for the SQLite file `default` without one."""
    value = env.text(name)
    if not value:
        return {"ENGINE": SQLITE, "NAME": str(default)}
    try:
        # The library prints a URL with an unknown scheme, password included, as a warning.
        known = urlsplit(value).scheme in {"postgresql", "postgres", "sqlite"}
        parsed: dict[str, object] = environ.Env.db_url_config(value) if known else {}
    except (ValueError, ImproperlyConfigured):
        parsed = {}
    if parsed.get("NAME", ":memory:") in {"", ":memory:"}:
        message = (
            f"{name} is not a database URL. Write it as postgresql://user:password@host:5432/name or sqlite:////path."
        )
        raise ImproperlyConfigured(message)
    return parsed | {"ENGINE": SQLITE if urlsplit(value).scheme == "sqlite" else POSTGRESQL}


def mail(name: str) -> dict[str, object]:
    """Returns Django's EMAIL_* settings for a URL such as `smtp+tls://user:password@host:587`; empty without one."""
    value = env.text(name)
    if not value:
        return {}
    parsed: dict[str, object] = {}
    with suppress(ValueError):
        if urlsplit(value).scheme in {"smtp", "smtp+tls", "smtps", "smtp+ssl"} and urlsplit(value).hostname:
            parsed = environ.Env.email_url_config(value)
    if not parsed:
        message = f"{name} is not the URL of a mail server. Write it as smtp+tls://user:password@host:587."
        raise ImproperlyConfigured(message)
    return parsed
